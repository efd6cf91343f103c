//! What a trace says of the run that was recorded.

use super::TraceError;
use super::bytes::{Reader, put, put_text};

/// Of the run that was recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Header {
    /// The version of mcpsim that recorded it.
    pub mcpsim: String,
    /// Its ranks.
    pub ranks: u32,
    /// The application's name.
    pub app: String,
    /// The platform's name.
    pub platform: String,
    /// `mcpsim` or `bigsim`.
    pub model: String,
    /// Nodes, CMPs a node, cores a CMP.
    pub nct: [u32; 3],
    /// The seed of its random draws.
    pub seed: u64,
    /// By what the times of a real program's own code were multiplied; `None` for what was described.
    pub scale: Option<f64>,
}

impl Header {
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        put_text(out, &self.mcpsim);
        put(out, self.ranks.into());
        put_text(out, &self.app);
        put_text(out, &self.platform);
        put_text(out, &self.model);
        self.nct.iter().for_each(|&part| put(out, part.into()));
        put(out, self.seed);
        out.push(self.scale.is_some().into());
        self.scale.iter().for_each(|scale| out.extend_from_slice(&scale.to_le_bytes()));
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Header, TraceError> {
        let text = |reader: &mut Reader<'_>, what| reader.text(what).map(str::to_owned);
        let mcpsim = text(reader, "a version")?;
        let ranks = reader.count("a number of ranks")? as u32;
        if ranks == 0 {
            return Err(reader.error("expected at least one rank"));
        }
        let (app, platform) = (text(reader, "an application")?, text(reader, "a platform")?);
        let model = text(reader, "a model")?;
        let mut nct = [0; 3];
        for part in &mut nct {
            *part = reader.word("a part of the shape")?;
        }
        let seed = reader.number()?;
        let scale = match reader.at_most(1, "whether there is a scale")? {
            0 => None,
            _ => Some(f64::from_le_bytes(reader.array("a scale")?)),
        };
        Ok(Header { mcpsim, ranks, app, platform, model, nct, seed, scale })
    }
}
