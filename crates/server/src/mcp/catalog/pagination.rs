//! Pagination of lists.
//!
//! A cursor names the last item of the previous page instead of an offset, so that a list that
//! changes in the meantime neither skips nor repeats items. Clients may send any text as a cursor,
//! so it is parsed like all foreign input.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use rmcp::{ErrorData, model::PaginatedRequestParams};
use serde::{Deserialize, Serialize};

/// The kinds of lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ListKind {
    Tools,
    Prompts,
    Resources,
    Templates,
}

/// The end of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListCursor {
    /// The version of the cursor format.
    #[serde(rename = "v")]
    version: u8,
    #[serde(rename = "l")]
    list: ListKind,
    /// The index of the provider.
    #[serde(rename = "f", default, skip_serializing_if = "is_first")]
    pub(super) family: usize,
    /// The last item of the page; `None` at the start of a provider.
    #[serde(rename = "a", default, skip_serializing_if = "Option::is_none")]
    pub(super) after: Option<String>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde requires this signature"
)]
fn is_first(family: &usize) -> bool {
    *family == 0
}

const CURSOR_VERSION: u8 = 1;

/// The longest accepted cursor.
const MAX_CURSOR_LEN: usize = 16_384;

impl ListKind {
    pub(super) const fn page_size(self) -> usize {
        match self {
            Self::Tools | Self::Prompts => 100,
            Self::Resources | Self::Templates => 50,
        }
    }

    /// Parses the cursor of the requested page.
    pub(super) fn decode_cursor(
        self,
        page: Option<PaginatedRequestParams>,
    ) -> Result<Option<ListCursor>, ErrorData> {
        let Some(cursor) = page.and_then(|page| page.cursor) else {
            return Ok(None);
        };
        let mark = parse_cursor(&cursor)
            .filter(|mark| mark.version == CURSOR_VERSION && mark.list == self);
        mark.map(Some).ok_or_else(invalid_cursor)
    }

    /// Encodes the cursor of the next page.
    pub(super) fn encode_cursor(self, family: usize, after: Option<String>) -> Option<String> {
        let mark = ListCursor {
            version: CURSOR_VERSION,
            list: self,
            family,
            after,
        };
        let text = serde_json::to_vec(&mark).ok()?;
        Some(URL_SAFE_NO_PAD.encode(text))
    }

    /// One page of a complete list, with the cursor of the next.
    pub(super) fn paginate<T>(
        self,
        items: Vec<T>,
        page: Option<PaginatedRequestParams>,
        name: impl Fn(&T) -> &str,
    ) -> Result<(Vec<T>, Option<String>), ErrorData> {
        let begin = match self.decode_cursor(page)?.and_then(|mark| mark.after) {
            None => 0,
            Some(after) => {
                let last = items.iter().position(|item| name(item) == after);
                last.ok_or_else(invalid_cursor)? + 1
            }
        };
        let mut rest = items.into_iter().skip(begin);
        let shown: Vec<T> = rest.by_ref().take(self.page_size()).collect();
        let next = match (rest.next(), shown.last()) {
            (Some(_), Some(last)) => self.encode_cursor(0, Some(name(last).to_owned())),
            _ => None,
        };
        Ok((shown, next))
    }
}

fn parse_cursor(cursor: &str) -> Option<ListCursor> {
    if cursor.len() > MAX_CURSOR_LEN {
        return None;
    }
    let text = URL_SAFE_NO_PAD.decode(cursor).ok()?;
    serde_json::from_slice(&text).ok()
}

/// The error for an invalid or outdated cursor.
pub(super) fn invalid_cursor() -> ErrorData {
    let text = "cursor: is not a cursor of this list; request the list again without one";
    ErrorData::invalid_params(text, None)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn page_request(cursor: Option<String>) -> PaginatedRequestParams {
        PaginatedRequestParams::default().with_cursor(cursor)
    }

    proptest! {
        #[test]
        fn every_item_comes_once_and_in_order(count in 0usize..400) {
            let items: Vec<String> = (0..count).map(|number| format!("item {number}")).collect();
            let mut seen = Vec::new();
            let mut cursor = None;
            loop {
                let page = page_request(cursor);
                let Ok((shown, next)) = ListKind::Tools.paginate(items.clone(), Some(page), |it| it) else {
                    panic!("our own cursor");
                };
                prop_assert!(shown.len() <= ListKind::Tools.page_size());
                seen.extend(shown);
                cursor = next;
                if cursor.is_none() {
                    break;
                }
            }
            prop_assert_eq!(seen, items);
        }

        #[test]
        fn what_a_client_makes_up_is_refused(cursor in "\\PC{0,60}") {
            let page = page_request(Some(cursor));
            prop_assert!(ListKind::Prompts.decode_cursor(Some(page)).is_err());
        }
    }

    #[test]
    fn a_cursor_of_another_list_is_refused() {
        let cursor = ListKind::Prompts.encode_cursor(0, Some("a".to_owned()));
        assert!(
            ListKind::Prompts
                .decode_cursor(Some(page_request(cursor.clone())))
                .is_ok()
        );
        assert!(
            ListKind::Tools
                .decode_cursor(Some(page_request(cursor)))
                .is_err()
        );
    }
}
