//! Turns tokens into events, as go-yaml's `parserc.go` does.

use super::Error;
use super::reader::Source;
use super::scanner::Scanner;
use super::token::Kind;

/// The prefixes of tags that need no directive.
const DEFAULT_TAG_DIRECTIVES: [(&str, &str); 2] = [("!", "!"), ("!!", "tag:yaml.org,2002:")];

pub(super) struct Event {
    pub(super) kind: EventKind,
    /// Line on which it starts, counted from zero.
    pub(super) line: usize,
}

pub(super) enum EventKind {
    StreamStart,
    StreamEnd,
    DocumentStart,
    DocumentEnd,
    Alias(String),
    Scalar {
        anchor: Option<String>,
        tag: Option<String>,
        value: String,
        /// Whether it is plain, so that its text says what it is.
        implicit: bool,
    },
    SequenceStart {
        anchor: Option<String>,
    },
    SequenceEnd,
    MappingStart {
        anchor: Option<String>,
    },
    MappingEnd,
}

/// What is expected next.
#[derive(Clone, Copy)]
enum State {
    StreamStart,
    ImplicitDocumentStart,
    DocumentStart,
    DocumentContent,
    DocumentEnd,
    BlockNode,
    BlockSequenceFirstEntry,
    BlockSequenceEntry,
    IndentlessSequenceEntry,
    BlockMappingFirstKey,
    BlockMappingKey,
    BlockMappingValue,
    FlowSequenceFirstEntry,
    FlowSequenceEntry,
    FlowSequenceEntryMappingKey,
    FlowSequenceEntryMappingValue,
    FlowSequenceEntryMappingEnd,
    FlowMappingFirstKey,
    FlowMappingKey,
    FlowMappingValue,
    FlowMappingEmptyValue,
}

/// Where a node stands.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Flow,
    Block,
    /// In a block, where a sequence needs no indentation.
    BlockOrIndentless,
}

pub(super) struct Parser<'a> {
    scanner: Scanner<'a>,
    state: State,
    /// What is expected after what is open.
    states: Vec<State>,
    tag_directives: Vec<(String, String)>,
}

impl<'a> Parser<'a> {
    pub(super) fn new(source: &'a Source<'a>) -> Self {
        Self {
            scanner: Scanner::new(source),
            state: State::StreamStart,
            states: Vec::new(),
            tag_directives: Vec::new(),
        }
    }

    pub(super) fn next(&mut self) -> Result<Event, Error> {
        match self.state {
            State::StreamStart => {
                self.state = State::ImplicitDocumentStart;
                self.take(EventKind::StreamStart)
            }
            State::ImplicitDocumentStart => self.document_start(true),
            State::DocumentStart => self.document_start(false),
            State::DocumentContent => self.document_content(),
            State::DocumentEnd => self.document_end(),
            State::BlockNode => self.node(Place::Block),
            State::BlockSequenceFirstEntry => self.after_start(Self::block_sequence_entry),
            State::BlockSequenceEntry => self.block_sequence_entry(),
            State::IndentlessSequenceEntry => self.indentless_sequence_entry(),
            State::BlockMappingFirstKey => self.after_start(Self::block_mapping_key),
            State::BlockMappingKey => self.block_mapping_key(),
            State::BlockMappingValue => self.block_mapping_value(),
            State::FlowSequenceFirstEntry => self.after_start(|parser| parser.flow_sequence_entry(true)),
            State::FlowSequenceEntry => self.flow_sequence_entry(false),
            State::FlowSequenceEntryMappingKey => self.flow_sequence_entry_mapping_key(),
            State::FlowSequenceEntryMappingValue => self.flow_sequence_entry_mapping_value(),
            State::FlowSequenceEntryMappingEnd => {
                self.state = State::FlowSequenceEntry;
                self.leave(EventKind::MappingEnd)
            }
            State::FlowMappingFirstKey => self.after_start(|parser| parser.flow_mapping_key(true)),
            State::FlowMappingKey => self.flow_mapping_key(false),
            State::FlowMappingValue => self.flow_mapping_value(),
            State::FlowMappingEmptyValue => self.empty_scalar_then(State::FlowMappingKey),
        }
    }

    fn document_start(&mut self, may_be_implicit: bool) -> Result<Event, Error> {
        if !may_be_implicit {
            while *self.peek()? == Kind::DocumentEnd {
                self.scanner.skip_token();
            }
        }
        match self.peek()? {
            Kind::StreamEnd => self.take(EventKind::StreamEnd),
            Kind::Version { .. } | Kind::TagDirective { .. } | Kind::DocumentStart => self.explicit_document_start(),
            _ if may_be_implicit => {
                self.process_directives()?;
                self.states.push(State::DocumentEnd);
                self.state = State::BlockNode;
                self.leave(EventKind::DocumentStart)
            }
            _ => self.explicit_document_start(),
        }
    }

    fn explicit_document_start(&mut self) -> Result<Event, Error> {
        self.process_directives()?;
        if *self.peek()? != Kind::DocumentStart {
            return Err(self.error("did not find expected <document start>"));
        }
        self.states.push(State::DocumentEnd);
        self.state = State::DocumentContent;
        self.take(EventKind::DocumentStart)
    }

    fn document_content(&mut self) -> Result<Event, Error> {
        match self.peek()? {
            Kind::Version { .. }
            | Kind::TagDirective { .. }
            | Kind::DocumentStart
            | Kind::DocumentEnd
            | Kind::StreamEnd => {
                let next = self.pop_state();
                self.empty_scalar_then(next)
            }
            _ => self.node(Place::Block),
        }
    }

    fn document_end(&mut self) -> Result<Event, Error> {
        let line = self.line()?;
        if *self.peek()? == Kind::DocumentEnd {
            self.scanner.skip_token();
        }
        self.tag_directives.clear();
        self.state = State::DocumentStart;
        Ok(Event {
            kind: EventKind::DocumentEnd,
            line,
        })
    }

    fn process_directives(&mut self) -> Result<(), Error> {
        let mut has_version = false;
        loop {
            match self.peek()? {
                Kind::Version { major, minor } => {
                    let is_compatible = (*major, *minor) == (1, 1);
                    if has_version {
                        return Err(self.error("found duplicate %YAML directive"));
                    }
                    if !is_compatible {
                        return Err(self.error("found incompatible YAML document"));
                    }
                    has_version = true;
                }
                Kind::TagDirective { handle, prefix } => {
                    let directive = (std::mem::take(handle), std::mem::take(prefix));
                    if self.tag_prefix(&directive.0).is_some() {
                        return Err(self.error("found duplicate %TAG directive"));
                    }
                    self.tag_directives.push(directive);
                }
                _ => break,
            }
            self.scanner.skip_token();
        }
        for (handle, prefix) in DEFAULT_TAG_DIRECTIVES {
            if self.tag_prefix(handle).is_none() {
                self.tag_directives.push((handle.to_owned(), prefix.to_owned()));
            }
        }
        Ok(())
    }

    fn tag_prefix(&self, handle: &str) -> Option<&str> {
        let directive = self.tag_directives.iter().find(|(known, _)| known == handle);
        directive.map(|(_, prefix)| &**prefix)
    }

    fn node(&mut self, place: Place) -> Result<Event, Error> {
        if let Kind::Alias(name) = self.peek()? {
            let alias = EventKind::Alias(std::mem::take(name));
            self.state = self.pop_state();
            return self.take(alias);
        }
        let line = self.line()?;
        let (anchor, tag) = self.properties()?;
        let kind = match self.peek()? {
            Kind::BlockEntry if place == Place::BlockOrIndentless => {
                self.state = State::IndentlessSequenceEntry;
                EventKind::SequenceStart { anchor }
            }
            Kind::Scalar { value, plain } => {
                let implicit = match &tag {
                    None => *plain,
                    Some(tag) => tag == "!",
                };
                let value = std::mem::take(value);
                self.scanner.skip_token();
                self.state = self.pop_state();
                EventKind::Scalar {
                    anchor,
                    tag,
                    value,
                    implicit,
                }
            }
            Kind::FlowSequenceStart => {
                self.state = State::FlowSequenceFirstEntry;
                EventKind::SequenceStart { anchor }
            }
            Kind::FlowMappingStart => {
                self.state = State::FlowMappingFirstKey;
                EventKind::MappingStart { anchor }
            }
            Kind::BlockSequenceStart if place != Place::Flow => {
                self.state = State::BlockSequenceFirstEntry;
                EventKind::SequenceStart { anchor }
            }
            Kind::BlockMappingStart if place != Place::Flow => {
                self.state = State::BlockMappingFirstKey;
                EventKind::MappingStart { anchor }
            }
            _ if anchor.is_some() || tag.is_some() => {
                self.state = self.pop_state();
                EventKind::Scalar {
                    implicit: tag.is_none(),
                    anchor,
                    tag,
                    value: String::new(),
                }
            }
            _ => return Err(self.error("did not find expected node content")),
        };
        Ok(Event { kind, line })
    }

    /// Reads an anchor and a tag, in either order.
    fn properties(&mut self) -> Result<(Option<String>, Option<String>), Error> {
        let anchor = self.anchor()?;
        let Kind::Tag { handle, suffix } = self.peek()? else {
            return Ok((anchor, None));
        };
        let (handle, suffix) = (std::mem::take(handle), std::mem::take(suffix));
        let tag_line = self.line()?;
        self.scanner.skip_token();
        let anchor = match anchor {
            None => self.anchor()?,
            some => some,
        };
        let tag = if handle.is_empty() {
            suffix
        } else {
            match self.tag_prefix(&handle) {
                Some(prefix) => format!("{prefix}{suffix}"),
                None => String::new(),
            }
        };
        if tag.is_empty() && !handle.is_empty() {
            return Err(Error::at_line(tag_line, "found undefined tag handle"));
        }
        Ok((anchor, (!tag.is_empty()).then_some(tag)))
    }

    fn anchor(&mut self) -> Result<Option<String>, Error> {
        let Kind::Anchor(name) = self.peek()? else {
            return Ok(None);
        };
        let name = std::mem::take(name);
        self.scanner.skip_token();
        Ok(Some(name))
    }

    /// Goes past the token that started what is open.
    fn after_start(&mut self, then: impl FnOnce(&mut Self) -> Result<Event, Error>) -> Result<Event, Error> {
        self.peek()?;
        self.scanner.skip_token();
        then(self)
    }

    fn block_sequence_entry(&mut self) -> Result<Event, Error> {
        match self.peek()? {
            Kind::BlockEntry => {
                let end = self.skip_indicator()?;
                self.state = State::BlockSequenceEntry;
                match self.peek()? {
                    Kind::BlockEntry | Kind::BlockEnd => Ok(empty_scalar(end)),
                    _ => self.nested(Place::Block),
                }
            }
            Kind::BlockEnd => self.close(EventKind::SequenceEnd),
            _ => Err(self.error("did not find expected '-' indicator")),
        }
    }

    fn indentless_sequence_entry(&mut self) -> Result<Event, Error> {
        if *self.peek()? != Kind::BlockEntry {
            self.state = self.pop_state();
            return self.leave(EventKind::SequenceEnd);
        }
        let end = self.skip_indicator()?;
        self.state = State::IndentlessSequenceEntry;
        match self.peek()? {
            Kind::BlockEntry | Kind::Key | Kind::Value | Kind::BlockEnd => Ok(empty_scalar(end)),
            _ => self.nested(Place::Block),
        }
    }

    fn block_mapping_key(&mut self) -> Result<Event, Error> {
        match self.peek()? {
            Kind::Key => {
                let end = self.skip_indicator()?;
                self.state = State::BlockMappingValue;
                self.block_mapping_node(end)
            }
            Kind::BlockEnd => self.close(EventKind::MappingEnd),
            _ => Err(self.error("did not find expected key")),
        }
    }

    fn block_mapping_value(&mut self) -> Result<Event, Error> {
        if *self.peek()? != Kind::Value {
            return self.empty_scalar_then(State::BlockMappingKey);
        }
        let end = self.skip_indicator()?;
        self.state = State::BlockMappingKey;
        self.block_mapping_node(end)
    }

    /// A key or a value, which is empty if the next one follows.
    fn block_mapping_node(&mut self, end: usize) -> Result<Event, Error> {
        match self.peek()? {
            Kind::Key | Kind::Value | Kind::BlockEnd => Ok(empty_scalar(end)),
            _ => self.nested(Place::BlockOrIndentless),
        }
    }

    fn flow_sequence_entry(&mut self, first: bool) -> Result<Event, Error> {
        if *self.peek()? != Kind::FlowSequenceEnd {
            if !first {
                self.flow_entry("did not find expected ',' or ']'")?;
            }
            match self.peek()? {
                Kind::Key => {
                    self.state = State::FlowSequenceEntryMappingKey;
                    return self.take(EventKind::MappingStart { anchor: None });
                }
                Kind::FlowSequenceEnd => {}
                _ => {
                    self.state = State::FlowSequenceEntry;
                    return self.nested(Place::Flow);
                }
            }
        }
        self.close(EventKind::SequenceEnd)
    }

    fn flow_sequence_entry_mapping_key(&mut self) -> Result<Event, Error> {
        self.state = State::FlowSequenceEntryMappingValue;
        match self.peek()? {
            Kind::Value | Kind::FlowEntry | Kind::FlowSequenceEnd => {
                // libyaml goes past the token here, whatever it is.
                let end = self.skip_indicator()?;
                Ok(empty_scalar(end))
            }
            _ => self.nested(Place::Flow),
        }
    }

    fn flow_sequence_entry_mapping_value(&mut self) -> Result<Event, Error> {
        let mut line = self.line()?;
        self.state = State::FlowSequenceEntryMappingEnd;
        if *self.peek()? == Kind::Value {
            self.scanner.skip_token();
            match self.peek()? {
                Kind::FlowEntry | Kind::FlowSequenceEnd => {}
                _ => return self.nested(Place::Flow),
            }
            line = self.line()?;
        }
        Ok(empty_scalar(line))
    }

    fn flow_mapping_key(&mut self, first: bool) -> Result<Event, Error> {
        if *self.peek()? != Kind::FlowMappingEnd {
            if !first {
                self.flow_entry("did not find expected ',' or '}'")?;
            }
            match self.peek()? {
                Kind::Key => {
                    self.scanner.skip_token();
                    self.state = State::FlowMappingValue;
                    return self.flow_mapping_node();
                }
                Kind::FlowMappingEnd => {}
                _ => {
                    self.state = State::FlowMappingEmptyValue;
                    return self.nested(Place::Flow);
                }
            }
        }
        self.close(EventKind::MappingEnd)
    }

    fn flow_mapping_value(&mut self) -> Result<Event, Error> {
        self.state = State::FlowMappingKey;
        if *self.peek()? == Kind::Value {
            self.scanner.skip_token();
            if !matches!(self.peek()?, Kind::FlowEntry | Kind::FlowMappingEnd) {
                return self.nested(Place::Flow);
            }
        }
        self.leave_empty()
    }

    fn flow_mapping_node(&mut self) -> Result<Event, Error> {
        match self.peek()? {
            Kind::Value | Kind::FlowEntry | Kind::FlowMappingEnd => self.leave_empty(),
            _ => self.nested(Place::Flow),
        }
    }

    /// Goes past the comma between entries.
    fn flow_entry(&mut self, missing: &'static str) -> Result<(), Error> {
        if *self.peek()? != Kind::FlowEntry {
            return Err(self.error(missing));
        }
        self.scanner.skip_token();
        Ok(())
    }

    /// A node after which the state that is set is to be taken up.
    fn nested(&mut self, place: Place) -> Result<Event, Error> {
        self.states.push(self.state);
        self.node(place)
    }

    fn close(&mut self, kind: EventKind) -> Result<Event, Error> {
        self.state = self.pop_state();
        self.take(kind)
    }

    /// An event for the next token, which is taken.
    fn take(&mut self, kind: EventKind) -> Result<Event, Error> {
        let event = self.leave(kind);
        self.scanner.skip_token();
        event
    }

    /// An event before the next token, which stays.
    fn leave(&mut self, kind: EventKind) -> Result<Event, Error> {
        Ok(Event {
            kind,
            line: self.line()?,
        })
    }

    fn leave_empty(&mut self) -> Result<Event, Error> {
        Ok(empty_scalar(self.line()?))
    }

    fn empty_scalar_then(&mut self, next: State) -> Result<Event, Error> {
        self.peek()?;
        self.state = next;
        self.leave_empty()
    }

    /// Takes the next token and returns the line on which it ends.
    fn skip_indicator(&mut self) -> Result<usize, Error> {
        let end = self.scanner.peek()?.end;
        self.scanner.skip_token();
        Ok(end)
    }

    fn peek(&mut self) -> Result<&mut Kind, Error> {
        Ok(&mut self.scanner.peek()?.kind)
    }

    fn line(&mut self) -> Result<usize, Error> {
        Ok(self.scanner.peek()?.start)
    }

    /// An error at the next token. go-yaml counts lines from zero here, and names no line zero.
    fn error(&mut self, problem: &'static str) -> Error {
        match self.line() {
            Ok(line) => Error::at_line(line, problem),
            Err(error) => error,
        }
    }

    fn pop_state(&mut self) -> State {
        self.states.pop().expect("what closes has been opened")
    }
}

fn empty_scalar(line: usize) -> Event {
    Event {
        kind: EventKind::Scalar {
            anchor: None,
            tag: None,
            value: String::new(),
            implicit: true,
        },
        line,
    }
}
