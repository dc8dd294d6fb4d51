//! Verifies the signatures of JSON Web Tokens with `ring`, which TLS uses already. Tokens are never
//! signed here.

use jsonwebtoken::{
    Algorithm, AlgorithmFamily, DecodingKey, DecodingKeyKind,
    crypto::{CryptoProvider, JwtVerifier, KeyUtils},
    errors::{Error, ErrorKind, Result},
    signature::{Error as SignatureError, Verifier},
};
use ring::signature::{self, RsaParameters, RsaPublicKeyComponents, VerificationAlgorithm};

/// Makes `jsonwebtoken` verify with this module. The first call in the process counts.
pub(super) fn install() {
    static PROVIDER: CryptoProvider = CryptoProvider {
        signer_factory: |_, _| Err(unsupported()),
        verifier_factory: |algorithm, key| new_verifier(*algorithm, key),
        key_utils: KeyUtils {
            rsa_pub_components_from_private_key: |_| Err(unsupported()),
            rsa_pub_components_from_public_key: |_| Err(unsupported()),
            ec_pub_components_from_private_key: |_, _| Err(unsupported()),
            ed_pub_components_from_private_key: |_, _| Err(unsupported()),
            compute_digest: |_, _| Err(unsupported()),
        },
    };
    // An error means that a provider is installed already.
    let _ = PROVIDER.install_default();
}

fn unsupported() -> Error {
    ErrorKind::InvalidAlgorithm.into()
}

/// A verifier for one algorithm and key.
struct TokenVerifier {
    algorithm: Algorithm,
    scheme: SignatureScheme,
    key: DecodingKey,
}

enum SignatureScheme {
    Rsa(&'static RsaParameters),
    /// The key is the raw public key.
    Curve(&'static dyn VerificationAlgorithm),
}

fn new_verifier(algorithm: Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>> {
    use SignatureScheme::{Curve, Rsa};
    let (family, scheme) = match algorithm {
        Algorithm::RS256 => (
            AlgorithmFamily::Rsa,
            Rsa(&signature::RSA_PKCS1_2048_8192_SHA256),
        ),
        Algorithm::RS384 => (
            AlgorithmFamily::Rsa,
            Rsa(&signature::RSA_PKCS1_2048_8192_SHA384),
        ),
        Algorithm::RS512 => (
            AlgorithmFamily::Rsa,
            Rsa(&signature::RSA_PKCS1_2048_8192_SHA512),
        ),
        Algorithm::PS256 => (
            AlgorithmFamily::Rsa,
            Rsa(&signature::RSA_PSS_2048_8192_SHA256),
        ),
        Algorithm::PS384 => (
            AlgorithmFamily::Rsa,
            Rsa(&signature::RSA_PSS_2048_8192_SHA384),
        ),
        Algorithm::PS512 => (
            AlgorithmFamily::Rsa,
            Rsa(&signature::RSA_PSS_2048_8192_SHA512),
        ),
        Algorithm::ES256 => (
            AlgorithmFamily::Ec,
            Curve(&signature::ECDSA_P256_SHA256_FIXED),
        ),
        Algorithm::ES384 => (
            AlgorithmFamily::Ec,
            Curve(&signature::ECDSA_P384_SHA384_FIXED),
        ),
        Algorithm::EdDSA => (AlgorithmFamily::Ed, Curve(&signature::ED25519)),
        _ => return Err(unsupported()),
    };
    if key.family() != family {
        return Err(ErrorKind::InvalidKeyFormat.into());
    }
    Ok(Box::new(TokenVerifier {
        algorithm,
        scheme,
        key: key.clone(),
    }))
}

impl Verifier<Vec<u8>> for TokenVerifier {
    fn verify(
        &self,
        message: &[u8],
        signature: &Vec<u8>,
    ) -> std::result::Result<(), SignatureError> {
        let verified = match (&self.scheme, self.key.kind()) {
            (SignatureScheme::Rsa(parameters), DecodingKeyKind::RsaModulusExponent { n, e }) => {
                RsaPublicKeyComponents {
                    n: without_leading_zeros(n),
                    e: without_leading_zeros(e),
                }
                .verify(parameters, message, signature)
            }
            (SignatureScheme::Curve(algorithm), DecodingKeyKind::SecretOrDer(key)) => algorithm
                .verify(
                    key.as_slice().into(),
                    message.into(),
                    signature.as_slice().into(),
                ),
            _ => Err(ring::error::Unspecified),
        };
        verified.map_err(|_| SignatureError::new())
    }
}

impl JwtVerifier for TokenVerifier {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

/// `ring` refuses numbers that some issuers pad.
fn without_leading_zeros(number: &[u8]) -> &[u8] {
    let start = number.iter().position(|byte| *byte != 0);
    start.and_then(|start| number.get(start..)).unwrap_or(&[])
}
