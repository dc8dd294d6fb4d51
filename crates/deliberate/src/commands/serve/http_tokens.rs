//! Reads the tokens that HTTP accepts, and reads them again when the settings are reloaded.

use std::sync::{Arc, OnceLock};

use anyhow::bail;
use deliberate_server::http::auth::{SharedTokens, Tokens, TokensError, is_private};

use super::reload::{PreparedReload, ReloadListener};
use crate::config::{LoadedConfig, SettingOrigin};

/// The tokens of the settings; `None` if none are configured.
pub(crate) fn read_tokens(loaded: &LoadedConfig) -> anyhow::Result<Option<Tokens>> {
    let http = &loaded.settings.http;
    check_settings_file(loaded)?;
    let one = http.token.as_ref().map(Tokens::single).transpose()?;
    let file = http.tokens_file.as_deref().map(Tokens::from_file);
    let file = file.transpose()?;
    Ok(match (one, file) {
        (Some(one), Some(many)) => Some(one.merge(many)?),
        (one, many) => one.or(many),
    })
}

/// Replaces the accepted tokens when the settings are read again.
pub(super) struct TokenReload(pub(super) Arc<OnceLock<SharedTokens>>);

impl ReloadListener for TokenReload {
    fn keys(&self) -> &'static [&'static str] {
        &["http.token", "http.tokens_file"]
    }

    fn prepare<'a>(&'a self, loaded: &'a LoadedConfig) -> anyhow::Result<PreparedReload<'a>> {
        let read = read_tokens(loaded);
        let Some(accepted) = self.0.get() else {
            if read?.is_some() {
                bail!("the server was started without tokens; restart it to require them");
            }
            return Ok(Box::pin(async { Ok("no tokens are required".to_owned()) }));
        };
        // Without tokens the server stays closed.
        let tokens = match read {
            Err(error) if matches!(error.downcast_ref(), Some(TokensError::Empty { .. })) => {
                Tokens::default()
            }
            read => read?.unwrap_or_default(),
        };
        Ok(Box::pin(async move {
            let before = accepted.current();
            let ended: Vec<&str> = before
                .names()
                .filter(|name| tokens.names().all(|it| it != *name))
                .collect();
            let mut done = format!("{} token(s)", tokens.names().count());
            if !ended.is_empty() {
                done = format!("{done}; no longer accepted: {}", ended.join(", "));
            }
            accepted.replace(tokens);
            Ok(done)
        }))
    }
}

/// Rejects a token in a settings file that other users can read or change.
fn check_settings_file(loaded: &LoadedConfig) -> anyhow::Result<()> {
    let token = loaded.entries.iter().find(|it| it.key == "http.token");
    let Some(SettingOrigin::File { path, .. }) = token.map(|it| &it.origin) else {
        return Ok(());
    };
    if !is_private(&std::fs::metadata(path)?) {
        bail!(
            "other users can read or change the settings file {0}, which contains http.token; run \
             \"chmod 600 {0}\", or set DELIBERATE_HTTP_TOKEN instead",
            path.display()
        );
    }
    Ok(())
}
