//! The principal of a request, as the transport determined it.

use deliberate_toolkit::Principal;
use http::request::Parts;
use rmcp::{RoleServer, model::Extensions, service::RequestContext};

/// The principal of a request. A transport with authentication puts it into the extensions of the
/// HTTP request; otherwise it is the person who runs this program.
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
