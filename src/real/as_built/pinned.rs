//! Restriction of a simulation run to one core of the host.
#![allow(unsafe_code)]

/// Restores the cores of a thread when it is dropped.
pub struct Pinned(libc::cpu_set_t);

impl Pinned {
    /// Restricts the current thread, and the threads and processes that it starts, to one of its cores. Simulator and
    /// ranks alternate, so one core is enough. A process wakes up on the same core in a tenth of the time.
    pub fn to_one_core() -> Option<Pinned> {
        // SAFETY: zero is a valid set, and the calls get sets of the stated size.
        unsafe {
            let mut before: libc::cpu_set_t = std::mem::zeroed();
            if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut before) != 0 {
                return None;
            }
            let cores: Vec<usize> =
                (0..libc::CPU_SETSIZE as usize).filter(|&core| libc::CPU_ISSET(core, &before)).collect();
            // Concurrent runs use different cores.
            let core = *cores.get(std::process::id() as usize % cores.len().max(1))?;
            let mut one: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(core, &mut one);
            (libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &one) == 0).then_some(Pinned(before))
        }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // SAFETY: the set has the stated size.
        unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &self.0) };
    }
}
