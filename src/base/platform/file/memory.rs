//! Tables `[cmp]` and `[node]` of a platform file: memory and caches, also for copies of messages within a node.

use serde::Deserialize;

use crate::config::{ConfigError, Document};
use crate::units::{Bandwidth, Bytes, Rate};

use super::super::{
    CacheRates, CacheReplacement, Contention, CopyMemory, CopyTraffic, Level, Link, MemorySharing, Places, UnreadKeys,
};
use super::CoreFile;

/// Greatest permitted size of the caches of a CMP.
const MOST_CACHE: Bytes = Bytes::new(64 << 30);

/// Table `[cmp]` of a platform file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CmpFile {
    pub memory_bandwidth: Bandwidth,
    pub memory_sharing: Option<MemorySharing>,
    cache: Option<Bytes>,
    cache_replacement: Option<CacheReplacement>,
    copy_bandwidth: Option<Bandwidth>,
    copy_traffic: Option<u32>,
}

/// Table `[node]` of a platform file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NodeFile {
    pub memory_bandwidth: Bandwidth,
    copy_bandwidth: Option<Bandwidth>,
}

/// Key `in_cache` of the table `[core]` of a platform file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InCacheFile {
    flops: Option<Rate>,
    instructions: Option<Rate>,
    memory_bandwidth: Option<Bandwidth>,
}

/// Returns the bytes of a last-level cache: of a domain of cores, if places state a cache, otherwise of a CMP.
fn cache(cmp: Option<&CmpFile>, places: &Places) -> Option<Bytes> {
    places.cache().map(|(_, size)| size).or(cmp?.cache)
}

/// Checks that `[cmp]` states the values that the stated caches and memories of domains of cores require.
pub(super) fn check_domains(document: &Document, cmp: Option<&CmpFile>, places: &Places) -> Result<(), ConfigError> {
    if let (Some((domain, _)), Some(cache)) = (places.cache(), cmp.and_then(|cmp| cmp.cache)) {
        let expected = format!("no \"cache\" in [cmp], because places.{} states that of its domains,", domain.name);
        return Err(document.expected("cmp.cache", expected, cache));
    }
    let of_domains = [("cache", places.cache().map(|of| of.0)), ("memory_bandwidth", places.memory().map(|of| of.0))];
    for (key, domain) in of_domains {
        if let Some(domain) = domain.filter(|_| cmp.is_none()) {
            let path = format!("places.{}.{key}", domain.name);
            return Err(document.expected(&path, "also [cmp] with its memory_bandwidth", "no [cmp]"));
        }
    }
    if let Some(((domain, bandwidth), cmp)) = places.memory().zip(cmp).filter(|(of, cmp)| of.1 > cmp.memory_bandwidth) {
        let path = format!("places.{}.memory_bandwidth", domain.name);
        let expected = format!("at most {}, the memory_bandwidth of a CMP,", cmp.memory_bandwidth);
        return Err(document.expected(&path, expected, bandwidth));
    }
    Ok(())
}

/// Returns the rates of a core for data in the caches of its CMP; missing rates equal the rates for data in memory.
pub(super) fn in_cache(
    document: &Document,
    core: &CoreFile,
    cmp: Option<&CmpFile>,
    places: &Places,
) -> Result<Option<CacheRates>, ConfigError> {
    let Some(stated) = &core.in_cache else { return Ok(None) };
    let Some(size) = cache(cmp, places) else {
        return Err(document.expected(
            "core.in_cache",
            "also \"cache\" in [cmp], the size of the caches,",
            "no \"cache\"",
        ));
    };
    let rate = |key: &str, stated: Option<Rate>, beyond: Rate| match stated.filter(|rate| rate.get() < beyond.get()) {
        Some(slower) => {
            let key = format!("core.in_cache.{key}");
            Err(document.expected(&key, format!("at least {beyond}, the rate beyond caches,"), slower))
        }
        None => Ok(stated.unwrap_or(beyond)),
    };
    let beyond = core.memory_bandwidth;
    if let Some(slower) = stated.memory_bandwidth.filter(|rate| *rate < beyond) {
        let expected = format!("at least {beyond}, the bandwidth beyond caches,");
        return Err(document.expected("core.in_cache.memory_bandwidth", expected, slower));
    }
    Ok(Some(CacheRates {
        size,
        flops: rate("flops", stated.flops, core.flops)?,
        instructions: rate("instructions", stated.instructions, core.instructions)?,
        bandwidth: stated.memory_bandwidth.unwrap_or(beyond),
    }))
}

/// Returns the stated keys of `[cmp]` and `[node]` about copies that have no effect, because no level within a node
/// uses the `fair` contention model. If `in_cache` is true, computing blocks use the cache size.
pub(super) fn unread(cmp: Option<&CmpFile>, node: Option<&NodeFile>, in_cache: bool) -> Vec<UnreadKeys> {
    let stated = |of: fn(&CmpFile) -> bool| cmp.is_some_and(of);
    let of_cmp = [
        ("cache", stated(|cmp| cmp.cache.is_some()) && !in_cache),
        ("cache_replacement", stated(|cmp| cmp.cache_replacement.is_some())),
        ("copy_bandwidth", stated(|cmp| cmp.copy_bandwidth.is_some())),
        ("copy_traffic", stated(|cmp| cmp.copy_traffic.is_some())),
    ];
    let of_node = [("copy_bandwidth", node.is_some_and(|node| node.copy_bandwidth.is_some()))];
    [UnreadKeys::stated("cmp", &of_cmp), UnreadKeys::stated("node", &of_node)].into_iter().flatten().collect()
}

/// Returns the memory that copies share, from `[cmp]`, `[node]` and the level between CMPs; `None` if neither a cache
/// nor a capacity is stated.
pub(super) fn copy_memory(
    document: &Document,
    core: &CoreFile,
    cmp: Option<&CmpFile>,
    node: Option<&NodeFile>,
    links: &[Link; 3],
    places: &Places,
) -> Result<Option<CopyMemory>, ConfigError> {
    let cache = cache(cmp, places);
    let of_node = node.and_then(|node| node.copy_bandwidth);
    let interconnect = links[Level::InterCmp as usize].occupancy().capacity;
    let Some((cmp, cache)) = cmp.zip(cache) else {
        let replacement = cmp.and_then(|cmp| cmp.cache_replacement);
        let stated = [
            ("cmp.cache_replacement", replacement.map(|_| "this key".to_owned())),
            ("cmp.copy_bandwidth", cmp.and_then(|cmp| cmp.copy_bandwidth).map(|stated| stated.to_string())),
            ("cmp.copy_traffic", cmp.and_then(|cmp| cmp.copy_traffic).map(|stated| stated.to_string())),
            ("node.copy_bandwidth", of_node.map(|stated| stated.to_string())),
        ];
        return match stated.into_iter().find_map(|(key, found)| Some((key, found?))) {
            Some((key, found)) => {
                let expected = "also \"cache\" in [cmp], beyond which copies use memory,";
                Err(document.expected(key, expected, format!("{found} and no \"cache\"")))
            }
            None => interconnect
                .map(|capacity| {
                    by_receivers(document, links, "\"capacity\" in [inter_cmp]")?;
                    Ok(CopyMemory::of_interconnect(capacity))
                })
                .transpose(),
        };
    };
    if cache > MOST_CACHE {
        return Err(document.expected("cmp.cache", format!("at most {MOST_CACHE} of caches"), cache));
    }
    let within = |key: &str, stated: Option<Bandwidth>, memory: Bandwidth| match stated.filter(|rate| *rate > memory) {
        Some(stated) => {
            let expected = format!("at most {memory}, the memory_bandwidth there,");
            Err(document.expected(key, expected, stated))
        }
        None => Ok(stated.unwrap_or(memory)),
    };
    let of_cmp = within("cmp.copy_bandwidth", cmp.copy_bandwidth, cmp.memory_bandwidth)?;
    let of_node = node.map(|node| within("node.copy_bandwidth", of_node, node.memory_bandwidth)).transpose()?;
    let traffic = match cmp.copy_traffic {
        None => CopyTraffic::default(),
        Some(bytes) => CopyTraffic::new(bytes).ok_or_else(|| {
            let expected = "2 bytes moved per copied byte, or 3 with write-allocate,";
            document.expected("cmp.copy_traffic", expected, bytes)
        })?,
    };
    by_receivers(document, links, "\"cache\" in [cmp]")?;
    let code = core.memory_bandwidth.get();
    let replacement = cmp.cache_replacement.unwrap_or_default();
    Ok(Some(CopyMemory { cache, replacement, cmp: Some(of_cmp), node: of_node, traffic, interconnect, code }))
}

/// Checks that only receivers copy messages, as the key `key` requires.
fn by_receivers(document: &Document, links: &[Link; 3], key: &str) -> Result<(), ConfigError> {
    for (level, link) in Level::ALL.into_iter().zip(links) {
        if link.contention() == Contention::Fair && link.occupancy().copies.by_sender() {
            let expected = format!("\"receiver\" or \"none\" with {key}");
            let found = "copies by the sender";
            return Err(document.expected(&format!("{}.copies", level.name()), expected, found));
        }
    }
    Ok(())
}
