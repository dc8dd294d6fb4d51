//! Parses XML into a tree of elements. Documents that declare entities are rejected, so none is
//! ever expanded. Depth, number of elements and memory are bounded.

use deliberate_extract::decode_entity;
use quick_xml::{
    Reader, XmlVersion,
    events::{BytesStart, Event},
};

use super::text_cleanup;

/// The greatest nesting depth; no source's responses are nested deeper.
const MAX_DEPTH: usize = 64;
/// The most elements of a document; a page of 2,000 papers has fewer.
const MAX_ELEMENTS: usize = 1_000_000;
/// The most bytes the tree may take. An element takes far more memory there than in the document.
const MAX_TREE_BYTES: usize = 64 * 1024 * 1024;

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct XmlElement {
    /// The element's name without its prefix.
    pub(crate) name: String,
    attributes: Vec<(String, String)>,
    children: Vec<XmlNode>,
}

#[derive(Debug, PartialEq, Eq)]
enum XmlNode {
    Element(XmlElement),
    Text(String),
}

impl XmlElement {
    /// The direct children with this name.
    pub(crate) fn children_named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Self> {
        let elements = self.children.iter().filter_map(|it| match it {
            XmlNode::Element(element) => Some(element),
            XmlNode::Text(_) => None,
        });
        elements.filter(move |it| it.name == name)
    }

    /// The first element at the end of a path.
    pub(crate) fn find_path(&self, path: &[&str]) -> Option<&Self> {
        let (first, rest) = path.split_first()?;
        let mut found = self.children.iter().filter_map(|it| match it {
            XmlNode::Element(element) if element.name == *first => Some(element),
            _ => None,
        });
        if rest.is_empty() {
            return found.next();
        }
        found.find_map(|it| it.find_path(rest))
    }

    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(it, _)| it == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Whether the element declares this namespace.
    pub(crate) fn declares_namespace(&self, namespace: &str) -> bool {
        self.attributes.iter().any(|(_, it)| it == namespace)
    }

    /// All text in the element, including that of its descendants.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        self.collect_text(&mut text);
        text
    }

    /// The cleaned and shortened text at the end of a path.
    pub(crate) fn line_at(&self, path: &[&str]) -> Option<String> {
        text_cleanup::clean_text(&self.find_path(path)?.text(), text_cleanup::MAX_LINE_CHARS)
    }

    fn collect_text(&self, text: &mut String) {
        for it in &self.children {
            match it {
                XmlNode::Text(it) => text.push_str(it),
                XmlNode::Element(it) => it.collect_text(text),
            }
        }
    }

    fn add_text(&mut self, more: &str) {
        match self.children.last_mut() {
            Some(XmlNode::Text(text)) => text.push_str(more),
            _ => self.children.push(XmlNode::Text(more.to_owned())),
        }
    }
}

/// A partly read document: the open elements and the size of the tree.
struct XmlTreeBuilder {
    open_elements: Vec<XmlElement>,
    elements: usize,
    bytes: usize,
}

impl XmlTreeBuilder {
    /// Counts an element against the limits before it is stored, in whichever form it is written.
    fn start_element(&mut self, start: &BytesStart<'_>) -> Result<XmlElement, String> {
        self.elements += 1;
        if self.open_elements.len() > MAX_DEPTH || self.elements > MAX_ELEMENTS {
            return Err("the XML has too many elements".to_owned());
        }
        self.count_bytes(size_of::<XmlNode>() + start.len())?;
        let element = new_element(start);
        self.count_bytes(element.attributes.len() * size_of::<(String, String)>())?;
        Ok(element)
    }

    fn count_bytes(&mut self, bytes: usize) -> Result<(), String> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > MAX_TREE_BYTES {
            return Err("the XML takes too much memory".to_owned());
        }
        Ok(())
    }

    fn append(&mut self, inner: XmlNode) {
        if let Some(parent) = self.open_elements.last_mut() {
            parent.children.push(inner);
        }
    }

    fn add_text(&mut self, text: &str) -> Result<(), String> {
        // Each text may become a node of its own.
        self.count_bytes(size_of::<XmlNode>() + text.len())?;
        if let Some(parent) = self.open_elements.last_mut() {
            parent.add_text(text);
        }
        Ok(())
    }

    fn end_element(&mut self) -> Result<(), String> {
        let done = self
            .open_elements
            .pop()
            .filter(|_| !self.open_elements.is_empty());
        let done = done.ok_or("malformed XML: an end tag without a start tag")?;
        self.append(XmlNode::Element(done));
        Ok(())
    }

    fn into_root(mut self) -> Result<XmlElement, String> {
        let whole = self.open_elements.len() == 1;
        let mut document = self
            .open_elements
            .pop()
            .filter(|_| whole)
            .unwrap_or_default();
        let mut inner = document.children.iter();
        let at = inner.position(|it| matches!(it, XmlNode::Element(_)));
        match at.map(|at| document.children.swap_remove(at)) {
            Some(XmlNode::Element(root)) => Ok(root),
            _ => Err("the XML is incomplete".to_owned()),
        }
    }
}

/// Parses a document. The error says what is wrong with it.
pub(crate) fn parse_document(document: &str) -> Result<XmlElement, String> {
    let mut reader = Reader::from_str(document);
    let mut tree = XmlTreeBuilder {
        open_elements: vec![XmlElement::default()],
        elements: 0,
        bytes: 0,
    };
    loop {
        let event = reader
            .read_event()
            .map_err(|it| format!("malformed XML: {it}"))?;
        match event {
            Event::Start(start) => {
                let element = tree.start_element(&start)?;
                tree.open_elements.push(element);
            }
            Event::Empty(start) => {
                let element = tree.start_element(&start)?;
                tree.append(XmlNode::Element(element));
            }
            Event::End(_) => tree.end_element()?,
            Event::Text(text) => tree.add_text(&text.xml10_content())?,
            Event::CData(text) => tree.add_text(&text.xml10_content())?,
            Event::GeneralRef(name) => match decode_entity(&name) {
                Some(text) => tree.add_text(&text)?,
                None => return Err("the XML has an unknown entity".to_owned()),
            },
            Event::DocType(kind) if kind.contains('[') || kind.contains("<!") => {
                return Err("the XML declares its own entities".to_owned());
            }
            Event::Eof => break,
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
    }
    tree.into_root()
}

fn new_element(start: &BytesStart<'_>) -> XmlElement {
    let attributes = start.attributes().flatten().take(64);
    let attributes = attributes.map(|it| {
        let value = it
            .normalized_value(XmlVersion::Implicit1_0)
            .unwrap_or_default();
        (it.key.local_name().as_ref().to_owned(), value.into_owned())
    });
    XmlElement {
        attributes: attributes.collect(),
        name: start.local_name().as_ref().to_owned(),
        children: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_goes_through_inner_elements() {
        let root = parse_document(
            "<a x='1 &amp; 2'><b>H<sub>2</sub>O &lt; &#x3b1;<![CDATA[ <&> ]]></b></a>",
        );
        let root = root.expect("it is well-formed");
        assert_eq!(root.attribute("x"), Some("1 & 2"));
        assert_eq!(root.line_at(&["b"]).as_deref(), Some("H2O < α <&>"));
        assert_eq!(root.line_at(&["c"]), None);
    }

    #[test]
    fn what_is_broken_is_refused() {
        for text in [
            "",
            "text",
            "<a>",
            "<a><b></a>",
            "</a>",
            "<a",
            "<a>&what;</a>",
            "<a>&#x110000;</a>",
        ] {
            assert!(parse_document(text).is_err(), "{text}");
        }
        let deep = "<a>".repeat(100_000);
        assert!(parse_document(&deep).is_err());
    }

    #[test]
    fn elements_are_counted_however_they_are_written() {
        for (inner, many) in [
            ("<a/>", MAX_ELEMENTS),
            ("<a></a>", MAX_ELEMENTS),
            (
                "<a x='' y='' z='' p='' q='' r='' s='' t=''/>",
                MAX_ELEMENTS / 4,
            ),
        ] {
            let document = format!("<feed>{}</feed>", inner.repeat(many));
            let refused = parse_document(&document).err().unwrap_or_default();
            assert!(refused.starts_with("the XML "), "{inner}: {refused:?}");
        }
        let most = format!("<feed>{}</feed>", "<a/>".repeat(MAX_ELEMENTS / 4));
        assert!(parse_document(&most).is_ok());
    }

    #[test]
    fn entities_of_its_own_are_not_expanded() {
        let bomb = "<!DOCTYPE a [<!ENTITY b \"bbbb\"><!ENTITY c \"&b;&b;\">]><a>&c;</a>";
        assert_eq!(
            parse_document(bomb),
            Err("the XML declares its own entities".to_owned())
        );
        let fine = "<!DOCTYPE a PUBLIC \"-//NLM//DTD\" \"https://dtd.org/a.dtd\"><a>x</a>";
        assert_eq!(parse_document(fine).map(|it| it.text()), Ok("x".to_owned()));
    }

    proptest::proptest! {
        #[test]
        fn whatever_comes_is_read_or_refused(text in "(?s)[<>/&;#a-c!\\[\\]CDATX\"'= -]{0,60}") {
            let _ = parse_document(&text);
            let _ = parse_document(&format!("<a>{text}</a>")).map(|it| it.text());
        }
    }
}
