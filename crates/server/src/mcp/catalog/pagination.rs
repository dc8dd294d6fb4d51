//! Long lists in pages.
//!
//! A cursor says where the page before it ended, by name and not by number, so that a list that
//! changes meanwhile loses nothing and repeats nothing. Clients give it back as they got it, or
//! make one up; it is read as anything else from outside.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use rmcp::{ErrorData, model::PaginatedRequestParams};
use serde::{Deserialize, Serialize};

/// The lists there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ListKind {
    Tools,
    Prompts,
    Resources,
    Templates,
}

/// Where a page ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListCursor {
    /// The form of this cursor.
    #[serde(rename = "v")]
    version: u8,
    #[serde(rename = "l")]
    list: ListKind,
    /// Which family of the list.
    #[serde(rename = "f", default, skip_serializing_if = "is_first")]
    pub(super) family: usize,
    /// What came last; nothing at the start of a family.
    #[serde(rename = "a", default, skip_serializing_if = "Option::is_none")]
    pub(super) after: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_first(family: &usize) -> bool {
    *family == 0
}

const CURSOR_VERSION: u8 = 1;

/// No cursor of ours is longer.
const MAX_CURSOR_LEN: usize = 16_384;

impl ListKind {
    /// Items on a page.
    pub(super) const fn page_size(self) -> usize {
        match self {
            Self::Tools | Self::Prompts => 100,
            Self::Resources | Self::Templates => 50,
        }
    }

    /// Where the wanted page begins.
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

    /// The cursor of the page that begins there.
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

    /// The page of a list that is at hand as a whole, and the cursor of the next.
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

/// The answer to a cursor that is not one of ours, or no longer.
pub(super) fn invalid_cursor() -> ErrorData {
    let text = "cursor: is not one that this list gave; ask for the list again without a cursor";
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
