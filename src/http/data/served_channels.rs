//! The channels in the documents for callers, read once for each generation of the snapshot, and the documents made of
//! them: anybody may ask for one, and a large one takes its time to make.

use std::collections::HashMap;
use std::sync::Arc;

use actix_web::web::Bytes;
use parking_lot::Mutex;
use serde_json::{Map, Value};
use svc_contract::{DocumentedChannel, documents_page, openapi_document};
use svc_model::config::value_reference::{ValueScope, replace_value_references};
use svc_model::{ChannelConfig, ChannelContent};
use svc_registry::Snapshot;

/// The title of the documents.
const TITLE: &str = "Channels";
/// Documents of a generation that are kept at most, and those of a tag among them: any number of tags leaves room for
/// the documents of all channels.
const MAX_KEPT: usize = 64;
const MAX_KEPT_OF_TAGS: usize = 48;

/// A document that a request asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RequestedDocument {
    /// The path that routes begin at.
    pub(crate) base: String,
    /// The tag of its channels; `None` for all of them.
    pub(crate) tag: Option<String>,
    /// The page, in place of the document itself.
    pub(crate) is_page: bool,
}

impl RequestedDocument {
    fn render(&self, channels: &[DocumentedChannel]) -> Bytes {
        let document = openapi_document(TITLE, &self.base, channels, self.tag.as_deref());
        let text = if self.is_page { documents_page(&document) } else { document.to_string() };
        text.into()
    }
}

/// The channels of a generation of the snapshot, read once for all documents.
#[derive(Default)]
pub(crate) struct ChannelDocuments(Mutex<Option<ReadChannels>>);

struct ReadChannels {
    generation: u64,
    channels: Arc<[DocumentedChannel]>,
    texts: HashMap<RequestedDocument, Bytes>,
}

impl ReadChannels {
    /// Keeps the text of a document while there is room. That of a tag which no channel has is soon made again, and a
    /// caller may ask for any number of them.
    fn keep(&mut self, document: RequestedDocument, text: Bytes) {
        let has_room = match &document.tag {
            None => self.texts.len() < MAX_KEPT,
            Some(tag) => self.texts.len() < MAX_KEPT_OF_TAGS && self.is_tag(tag),
        };
        if has_room {
            self.texts.insert(document, text);
        }
    }

    fn is_tag(&self, tag: &str) -> bool {
        self.channels.iter().any(|channel| channel.content.tags.iter().any(|own| own == tag))
    }
}

impl ChannelDocuments {
    /// Returns the text of a document of the serving channels.
    pub(crate) fn render(
        &self,
        snapshot: &Snapshot,
        declared: &Map<String, Value>,
        document: RequestedDocument,
    ) -> Bytes {
        let generation = snapshot.generation();
        if let Some(text) = self.find_text(generation, &document) {
            return text;
        }
        let text = document.render(&self.read_channels(snapshot, declared));
        let mut known = self.0.lock();
        if let Some(read) = known.as_mut().filter(|read| read.generation == generation) {
            read.keep(document, text.clone());
        }
        text
    }

    fn find_text(&self, generation: u64, document: &RequestedDocument) -> Option<Bytes> {
        let known = self.0.lock();
        let read = known.as_ref().filter(|read| read.generation == generation)?;
        read.texts.get(document).cloned()
    }

    /// Returns the serving channels that take requests, with declared values in the places of references.
    fn read_channels(&self, snapshot: &Snapshot, declared: &Map<String, Value>) -> Arc<[DocumentedChannel]> {
        let generation = snapshot.generation();
        let mut known = self.0.lock();
        if let Some(read) = known.as_ref().filter(|read| read.generation == generation) {
            return Arc::clone(&read.channels);
        }
        let serving = snapshot.channels().filter(|entry| entry.quarantine().is_none());
        let channels: Arc<[_]> =
            serving.filter_map(|entry| read_channel(&entry.row.content, declared)).collect();
        *known = Some(ReadChannels { generation, channels: Arc::clone(&channels), texts: HashMap::new() });
        channels
    }
}

fn read_channel(content: &ChannelContent, declared: &Map<String, Value>) -> Option<DocumentedChannel> {
    if !content.protocol.is_http() {
        return None;
    }
    let mut content = content.clone();
    replace_value_references(ValueScope::ChannelConfig, &mut content.config, Some(declared)).ok()?;
    let config = ChannelConfig::parse(&content.config).ok()?;
    Some(DocumentedChannel { content, config })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use svc_model::{ChannelType, Protocol};

    use super::*;

    fn channel(tag: &str) -> DocumentedChannel {
        let content = ChannelContent {
            name: "orders".to_owned(),
            description: None,
            channel_type: ChannelType::Sync,
            protocol: Protocol::Rest,
            methods: None,
            route_pattern: None,
            topic: None,
            consumer_group: None,
            transport_config: json!({}),
            workflow_id: None,
            config: json!({}),
            priority: 0,
            tags: vec![tag.to_owned()],
        };
        DocumentedChannel { content, config: ChannelConfig::default() }
    }

    #[test]
    fn tags_leave_room_for_whole_documents() {
        let channels = (0..100).map(|at| channel(&format!("tag-{at}"))).collect();
        let mut read = ReadChannels { generation: 1, channels, texts: HashMap::new() };
        let mut keep = |tag: Option<String>, is_page| {
            let document = RequestedDocument { base: "/api/v1/data".to_owned(), tag, is_page };
            read.keep(document.clone(), Bytes::new());
            read.texts.contains_key(&document)
        };
        assert!(!keep(Some("other".to_owned()), false), "no channel has it");
        let kept = (0..100).filter(|at| keep(Some(format!("tag-{at}")), false)).count();
        assert_eq!(kept, MAX_KEPT_OF_TAGS);
        assert!(keep(None, false) && keep(None, true));
    }
}
