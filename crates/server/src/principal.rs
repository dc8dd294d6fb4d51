//! Whose request it is, as the transport found out.

use deliberate_toolkit::Principal;
use http::request::Parts;
use rmcp::{RoleServer, model::Extensions, service::RequestContext};

/// Whoever sent the request. A transport that checks who is there leaves the principal among the
/// extensions of the HTTP request; without one it is whoever runs this program.
pub fn principal(context: &RequestContext<RoleServer>) -> Principal {
    principal_from_extensions(&context.extensions)
}

fn principal_from_extensions(extensions: &Extensions) -> Principal {
    let parts = extensions.get::<Parts>();
    let found = parts.and_then(|parts| parts.extensions.get::<Principal>());
    found.cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_who_the_transport_says_or_whoever_runs_this() {
        let mut extensions = Extensions::new();
        assert_eq!(principal_from_extensions(&extensions), Principal::default());
        let known = Principal {
            name: Some("ada".into()),
            ..Principal::default()
        };
        let mut request = http::Request::new(());
        request.extensions_mut().insert(known.clone());
        extensions.insert(request.into_parts().0);
        assert_eq!(principal_from_extensions(&extensions), known);
    }
}
