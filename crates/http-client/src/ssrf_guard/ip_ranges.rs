//! Distinguishes public IP addresses from local, private and reserved ones.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The reason why an address is blocked; `None` if it is public.
pub fn blocked_reason(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => blocked_v4_reason(address),
        IpAddr::V6(address) => blocked_v6_reason(address),
    }
}

const PRIVATE: &str = "the address is in a private network";
const RESERVED: &str = "the address is reserved";

/// Networks that are not public: first address, prefix length, reason.
const BLOCKED_NETS: &[([u8; 4], u32, &str)] = &[
    ([0, 0, 0, 0], 8, "the address is unspecified"),
    ([10, 0, 0, 0], 8, PRIVATE),
    ([100, 64, 0, 0], 10, PRIVATE),
    ([127, 0, 0, 0], 8, "the address is on this machine"),
    ([169, 254, 0, 0], 16, "the address is link-local"),
    ([172, 16, 0, 0], 12, PRIVATE),
    ([192, 0, 0, 0], 24, RESERVED),
    ([192, 0, 2, 0], 24, RESERVED),
    ([192, 88, 99, 0], 24, RESERVED),
    ([192, 168, 0, 0], 16, PRIVATE),
    ([198, 18, 0, 0], 15, RESERVED),
    ([198, 51, 100, 0], 24, RESERVED),
    ([203, 0, 113, 0], 24, RESERVED),
    ([224, 0, 0, 0], 4, "the address is multicast"),
    ([240, 0, 0, 0], 4, RESERVED),
];

fn blocked_v4_reason(address: Ipv4Addr) -> Option<&'static str> {
    let bits = address.to_bits();
    BLOCKED_NETS
        .iter()
        .find(|(first, length, _)| {
            let mask = u32::MAX << (32 - length);
            bits & mask == u32::from_be_bytes(*first)
        })
        .map(|(_, _, what)| *what)
}

/// Checks an IPv6 address. Only `2000::/3` is allocated. Embedded IPv4 addresses are checked as
/// such, because a router on the way may translate them.
fn blocked_v6_reason(address: Ipv6Addr) -> Option<&'static str> {
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Some("the address is unspecified"),
        [0, 0, 0, 0, 0, 0, 0, 1] => Some("the address is on this machine"),
        [0xfc00..=0xfdff, ..] => Some(PRIVATE),
        [0xfe80..=0xfebf, ..] => Some("the address is link-local"),
        [0xff00..=0xffff, ..] => Some("the address is multicast"),
        // Teredo: the address of a server, and that of the client behind it with inverted bits.
        [0x2001, 0, high, low, .., client_high, client_low] => {
            blocked_v4_reason(embedded_v4(high, low))
                .or_else(|| blocked_v4_reason(embedded_v4(!client_high, !client_low)))
        }
        [0x2001, 1..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Some(RESERVED),
        // IPv4-mapped, NAT64, 6to4, ISATAP.
        [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..]
        | [0x2000..=0x3fff, _, _, _, 0 | 0x200, 0x5efe, high, low] => {
            blocked_v4_reason(embedded_v4(high, low))
        }
        [0x2000..=0x3fff, ..] => None,
        _ => Some(RESERVED),
    }
}

fn embedded_v4(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn public_addresses_pass() {
        for public in [
            "1.1.1.1",
            "8.8.8.8",
            "93.184.216.34",
            "100.63.255.255",
            "100.128.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.1",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00:1450:4001::200e",
            "2001:4860:4860::8888",
            "2001:200::1",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
            "2002:808:808::1",
        ] {
            assert_eq!(blocked_reason(public.parse().unwrap()), None, "{public}");
        }
    }

    #[test]
    fn what_is_not_public_is_refused() {
        for refused in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::8.8.8.8",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "::ffff:0:127.0.0.1",
            "64:ff9b::10.0.0.1",
            "64:ff9b::127.0.0.1",
            "64:ff9b:1::8.8.8.8",
            "100::1",
            "2001::1",
            "2001:2::1",
            "2001:10::1",
            "2001:20::1",
            "2001:db8::1",
            "3fff::1",
            "2002:7f00:1::1",
            "2002:a00:1::",
            "2002:c0a8:101::1",
            "2a00::5efe:10.0.0.1",
            "fc00::1",
            "fd12:3456::1",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
            "ff0e::1",
            "4000::1",
            "5f00::1",
            "e000::1",
            // Teredo: a public server with this machine as the client behind it.
            "2001:0:808:808:0:0:80ff:fffe",
        ] {
            assert!(
                blocked_reason(refused.parse().unwrap()).is_some(),
                "{refused}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_way_to_write_it_in_ipv6_makes_an_address_public(bits in any::<u32>()) {
            let plain = Ipv4Addr::from_bits(bits);
            if blocked_reason(plain.into()).is_some() {
                let [a, b, c, d] = plain.octets();
                let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
                for inside in [
                    plain.to_ipv6_mapped(),
                    plain.to_ipv6_compatible(),
                    Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
                    Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
                    Ipv6Addr::new(0x2001, 0, 0x808, 0x808, 0, 0, !high, !low),
                    Ipv6Addr::new(0x2001, 0, high, low, 0, 0, 0xf7f7, 0xf7f7),
                ] {
                    prop_assert!(blocked_reason(inside.into()).is_some(), "{inside}");
                }
            }
        }
    }
}
