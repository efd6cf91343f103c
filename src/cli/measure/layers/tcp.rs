//! Messages over a TCP connection. On the TCP connection, a message consists of its length and its bytes. Sending and
//! receiving progress concurrently.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use super::port::PairLayer;

/// Size in bytes of the length field that precedes a message.
const HEADER: usize = 8;
/// Size in bytes of the buffers for data that are transferred together with length fields.
const BUFFER: usize = 64 << 10;
/// Number of unsuccessful polls of the connection after which a rank yields its core. All these polls together take a
/// fraction of a millisecond. On a busy machine the rank may get the core back only at the next timer tick.
const SPINS: u32 = 1000;

/// TCP connection to the other rank.
pub(super) struct Tcp {
    stream: TcpStream,
    /// Received bytes that the measuring rank has not consumed yet.
    came: Vec<u8>,
    taken: usize,
    /// Bytes that must be sent before all other bytes.
    leaving: Vec<u8>,
    left: usize,
}

impl Tcp {
    pub fn new(stream: TcpStream) -> Tcp {
        // Nagle's algorithm would dominate the measured times. If the operating system refuses to switch the algorithm
        // off, the connection is measured anyway.
        let _ = stream.set_nodelay(true);
        let _ = stream.set_nonblocking(true);
        Tcp { stream, came: Vec::with_capacity(BUFFER), taken: 0, leaving: Vec::with_capacity(BUFFER), left: 0 }
    }

    /// Writes pending bytes to the connection. Returns true if any bytes were written.
    fn write(&mut self) -> Result<bool, String> {
        if self.left == self.leaving.len() {
            return Ok(false);
        }
        let written = written(self.stream.write(&self.leaving[self.left..]))?;
        self.left += written;
        if self.left == self.leaving.len() {
            self.leaving.clear();
            self.left = 0;
        }
        Ok(written > 0)
    }

    /// Reads bytes from the connection into the buffer after the whole buffer was consumed. Returns true if any bytes
    /// arrived.
    fn read(&mut self) -> Result<bool, String> {
        if self.taken == self.came.len() {
            self.came.clear();
            self.taken = 0;
        }
        let had = self.came.len();
        self.came.resize(BUFFER.max(had + HEADER), 0);
        let read = read(self.stream.read(&mut self.came[had..]));
        self.came.truncate(had + *read.as_ref().unwrap_or(&0));
        read.map(|read| read > 0)
    }

    /// Copies received bytes to `into`. Returns the number of copied bytes.
    fn take(&mut self, into: &mut [u8]) -> usize {
        let there = (self.came.len() - self.taken).min(into.len());
        into[..there].copy_from_slice(&self.came[self.taken..self.taken + there]);
        self.taken += there;
        there
    }
}

fn written(result: std::io::Result<usize>) -> Result<usize, String> {
    match result {
        Ok(bytes) => Ok(bytes),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(0),
        Err(error) => Err(format!("the connection to the other rank failed: {error}")),
    }
}

fn read(result: std::io::Result<usize>) -> Result<usize, String> {
    match result {
        Ok(0) => Err("the other rank has closed the connection".to_owned()),
        other => written(other),
    }
}

impl PairLayer for Tcp {
    fn transfer(&mut self, out: &[&[u8]], into: &mut [&mut [u8]]) -> Result<(), String> {
        // Progress of the current messages: number of sent bytes of the current outgoing message, including its length,
        // and of received bytes of the current incoming message.
        let (mut message, mut gone) = (0, 0);
        let (mut expected, mut got, mut length) = (0, 0, None);
        let mut idle = 0;
        while message < out.len() || !self.leaving.is_empty() || expected < into.len() {
            let mut moved = self.write()?;
            // The length field is sent together with the bytes of its message.
            while message < out.len() && self.leaving.len() + HEADER < BUFFER && self.left == 0 {
                let data = out[message];
                if gone == 0 {
                    self.leaving.extend_from_slice(&(data.len() as u64).to_le_bytes());
                }
                let room = (BUFFER - self.leaving.len()).min(data.len() - gone);
                if data.len() - gone > BUFFER && self.leaving.is_empty() {
                    let sent = written(self.stream.write(&data[gone..]))?;
                    (gone, moved) = (gone + sent, moved || sent > 0);
                    if sent == 0 {
                        break;
                    }
                } else {
                    self.leaving.extend_from_slice(&data[gone..gone + room]);
                    (gone, moved) = (gone + room, true);
                }
                if gone == data.len() {
                    (message, gone) = (message + 1, 0);
                }
                // Each message is sent by a separate system call, as if the following messages were not known yet.
                self.write()?;
            }
            if expected < into.len() {
                let data = &mut into[expected];
                let mut header = [0; HEADER];
                if length.is_none() && self.came.len() - self.taken >= HEADER {
                    self.take(&mut header);
                    let found = u64::from_le_bytes(header) as usize;
                    if found != data.len() {
                        return Err(format!(
                            "expected a message of {} B from the other rank; found {found} B",
                            data.len()
                        ));
                    }
                    length = Some(found);
                }
                let mut came = 0;
                if length.is_some() {
                    came = self.take(&mut data[got..]);
                    if came == 0 && data.len() - got >= BUFFER {
                        came = read(self.stream.read(&mut data[got..]))?;
                    } else if came == 0 && got < data.len() {
                        moved |= self.read()?;
                    }
                    got += came;
                    if got == data.len() {
                        (expected, got, length) = (expected + 1, 0, None);
                        came = 1;
                    }
                } else {
                    moved |= self.read()?;
                }
                moved |= came > 0;
            }
            idle = if moved { 0 } else { idle + 1 };
            if idle > SPINS {
                std::thread::yield_now();
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn messages_of_all_lengths_come_in_order_both_ways() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut one = Tcp::new(TcpStream::connect(listener.local_addr().unwrap()).unwrap());
        let mut other = Tcp::new(listener.accept().unwrap().0);
        let lengths = [0, 1, 8, BUFFER - 9, BUFFER, BUFFER + 1, 0, 50 * BUFFER + 7, 3];
        let data = |seed: usize| -> Vec<Vec<u8>> {
            lengths.iter().map(|length| (0..*length).map(|byte| (byte * 7 + seed) as u8).collect()).collect()
        };
        let both = |layer: &mut Tcp, mine: usize, theirs: usize| {
            let mut found: Vec<Vec<u8>> = lengths.iter().map(|length| vec![0; *length]).collect();
            let out = data(mine);
            let out: Vec<&[u8]> = out.iter().map(Vec::as_slice).collect();
            let mut into: Vec<&mut [u8]> = found.iter_mut().map(Vec::as_mut_slice).collect();
            layer.transfer(&out, &mut into).unwrap();
            assert!(found == data(theirs));
        };
        std::thread::scope(|scope| {
            scope.spawn(|| both(&mut one, 1, 2));
            both(&mut other, 2, 1);
        });
        // A message of an unexpected length, and a closed connection, are errors.
        one.transfer(&[&[1, 2]], &mut []).unwrap();
        let error = other.transfer(&[], &mut [&mut [0; 3]]).unwrap_err();
        assert_eq!(error, "expected a message of 3 B from the other rank; found 2 B");
        drop(one);
        assert!(other.transfer(&[], &mut [&mut [0; 2], &mut [0; 3]]).is_err());
    }
}
