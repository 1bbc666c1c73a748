internal import Formats
package import NetworkAddresses

/// Settings of roles that may notify others, and of users whom another party signs in.
extension BackendSettings {
    package static let mayNotifyRoles = OpenSetting(.backend, "may-notify-roles", .names)
        .summary("Roles whose users may notify others, beside users who have that right themselves. Without it: none.")
    package static let oidcIssuer = OpenSetting(.backend, "oidc-issuer", .providerURL)
        .summary(
            "The OpenID Connect provider whose users may sign in with its tokens: the exact value of their claim 'iss'. Without it: none."
        )
    package static let oidcAudience = OpenSetting(.backend, "oidc-audience", .text)
        .summary("The value that the claim 'aud' of the provider's tokens must contain, such as the app's client id.")
    package static let oidcKeysURL = OpenSetting(.backend, "oidc-jwks-url", .providerURL)
        .summary("The address of the provider's keys, a JSON Web Key Set ('jwks_uri' of the provider's metadata).")
    package static let oidcKeysFile = OpenSetting(.backend, "oidc-jwks-file", .path)
        .summary("A file with the provider's keys, instead of 'oidc-jwks-url'. Read again when it changes.")
    package static let oidcNameClaim = Setting(.backend, "oidc-name-claim", .text, "preferred_username")
        .summary("The claim that gives a new user's name; users must not be able to choose its value.")
    package static let oidcSuffix = Setting(.backend, "oidc-suffix", .nameSuffix, "oidc")
        .summary("The suffix of the names of the provider's users: alice is addressed as alice@oidc.")
    package static let oidcRoleClaim = OpenSetting(.backend, "oidc-role-claim", .text)
        .summary(
            "The claim with a user's roles, such as 'roles' or 'realm_access.roles'. Without it the provider gives no roles."
        )
    package static let userHeaderProxies = OpenSetting(.backend, "user-header-proxies", .addressBlocks)
        .summary(
            "Proxies that sign users in and name them in 'user-header'; no other program may connect from these addresses. Without it: none."
        )
    package static let userHeader = Setting(.backend, "user-header", .headerName, "X-Forwarded-User")
        .summary("The header in which 'user-header-proxies' name the user. From other addresses it is ignored.")
    package static let userHeaderSuffix = Setting(.backend, "user-header-suffix", .nameSuffix, "proxy")
        .summary("The suffix of the names of users whom a proxy signs in: alice is addressed as alice@proxy.")

    static let identityEntries = [
        mayNotifyRoles.entry, oidcIssuer.entry, oidcAudience.entry, oidcKeysURL.entry, oidcKeysFile.entry,
        oidcNameClaim.entry, oidcSuffix.entry, oidcRoleClaim.entry, userHeaderProxies.entry, userHeader.entry,
        userHeaderSuffix.entry,
    ]
}

extension SettingFormat<[String]> {
    /// Names of any characters except commas.
    static let names = SettingFormat(
        "list of names",
        range: "of up to 128 characters",
        nature: .list,
        show: { $0.joined(separator: ",") }
    ) { text throws(SettingValueError) in
        let names = text.split(separator: ",", omittingEmptySubsequences: false).map { name in
            String(name.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
        }
        for name in names {
            let isName = name.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
            guard isName, (1...128).contains(name.count) else {
                throw SettingValueError("must be names of 1 to 128 characters with commas between them")
            }
        }
        return names
    }
}

extension SettingFormat<String> {
    /// An address with https, or with http on this machine; used as it is written.
    static let providerURL = SettingFormat(
        "https URL",
        show: { $0 },
        otherwise: "must be an address such as https://login.example.org/realms/news"
    ) { isSecureURL($0, without: "#@") ? $0 : nil }

    /// The end of users' names, without the '@' before it.
    static let nameSuffix = SettingFormat(
        "name",
        range: "up to 32 letters, digits, '.', '-'",
        show: { $0 },
        otherwise: "must be 1 to 32 letters, digits, '.' or '-'"
    ) { text in
        text.hasOnlyLettersAndDigits(or: ".-") && (1...32).contains(text.utf8.count) ? text : nil
    }

    /// Source: RFC 9110 §5.6.2 (token).
    static let headerName = SettingFormat(
        "header",
        show: { $0 },
        otherwise: "must be the name of a header, such as X-Forwarded-User"
    ) { text in
        text.hasOnlyLettersAndDigits(or: "!#$%&'*+-.^_`|~") && (1...64).contains(text.utf8.count) ? text : nil
    }
}
