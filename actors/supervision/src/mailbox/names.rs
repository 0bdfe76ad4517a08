//! Short names of message types.

/// The last segment of a type name, without the modules and the type parameters.
pub(crate) fn short_name(type_name: &'static str) -> &'static str {
    let bare = type_name.split('<').next().unwrap_or(type_name);
    bare.rsplit("::").next().unwrap_or(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_name_has_no_modules_and_no_parameters() {
        assert_eq!(short_name("a::b::Ping"), "Ping");
        assert_eq!(short_name("a::Reload<b::C>"), "Reload");
        assert_eq!(short_name("u32"), "u32");
    }
}
