package import AppBackend
import HTTPTypes
package import NetworkAddresses
package import OutboundHTTP
package import Settings

/// The settings of roles, and of users whom another party signs in.
package struct IdentitySettings: Sendable {
    package let mayNotifyRoles: [String]
    package let issuer: String?
    package let audience: String?
    package let keysURL: String?
    package let keysFile: String?
    package let nameClaim: String
    package let suffix: String
    package let roleClaim: String?
    package let proxies: [AddressBlock]?
    package let header: String
    package let headerSuffix: String

    /// Reads them from settings, flags included.
    package init(_ settings: Settings) {
        mayNotifyRoles = settings.value(BackendSettings.mayNotifyRoles) ?? []
        issuer = settings.value(BackendSettings.oidcIssuer)
        audience = settings.value(BackendSettings.oidcAudience)
        keysURL = settings.value(BackendSettings.oidcKeysURL)
        keysFile = settings.value(BackendSettings.oidcKeysFile)
        nameClaim = settings.value(BackendSettings.oidcNameClaim)
        suffix = settings.value(BackendSettings.oidcSuffix)
        roleClaim = settings.value(BackendSettings.oidcRoleClaim)
        proxies = settings.value(BackendSettings.userHeaderProxies)
        header = settings.value(BackendSettings.userHeader)
        headerSuffix = settings.value(BackendSettings.userHeaderSuffix)
    }

    /// Problems that keep them from being used together.
    package func problems() -> [String] {
        let keys = [keysURL, keysFile].compactMap(\.self)
        var problems: [String] = []
        if issuer != nil, audience == nil {
            problems.append("'oidc-issuer' needs 'oidc-audience': tokens for other apps must not sign in here")
        }
        if issuer != nil, keys.isEmpty {
            problems.append("'oidc-issuer' needs the provider's keys: set 'oidc-jwks-url' or 'oidc-jwks-file'")
        }
        if keys.count == 2 { problems.append("'oidc-jwks-url' and 'oidc-jwks-file' cannot be combined") }
        if issuer == nil, audience != nil || !keys.isEmpty {
            problems.append("settings of an OpenID Connect provider are set, but 'oidc-issuer' is not")
        }
        if issuer != nil, proxies?.isEmpty == false, suffix.lowercased() == headerSuffix.lowercased() {
            problems.append(
                "'oidc-suffix' and 'user-header-suffix' are the same: names must say who signs their users in"
            )
        }
        return problems
    }

    /// Suffixes that names of accounts with a password must not have.
    package var foreignSuffixes: [NameSuffix] {
        let used = (issuer == nil ? [] : [suffix]) + (proxies?.isEmpty == false ? [headerSuffix] : [])
        return used.compactMap { NameSuffix($0) }
    }

    /// Applies them to the configuration of an app backend; ``problems()`` must have found nothing.
    package func apply(to configuration: inout BackendConfiguration, http: OutboundClient) {
        configuration.mayNotifyRoles = Set(mayNotifyRoles.compactMap { Role($0) })
        configuration.provider = provider(http)
        if let proxies, !proxies.isEmpty, let field = HTTPField.Name(header), let end = NameSuffix(headerSuffix) {
            configuration.proxyUsers = ProxyUsers(field: field, addresses: proxies, suffix: end)
        }
    }

    private func provider(_ http: OutboundClient) -> OpenIDConfiguration? {
        guard let issuer, let audience, let suffix = NameSuffix(suffix) else { return nil }
        let keys: OpenIDConfiguration.Keys
        if let keysURL {
            keys = .url(keysURL, http)
        } else if let keysFile {
            keys = .file(keysFile)
        } else {
            return nil
        }
        var configuration = OpenIDConfiguration(issuer: issuer, audience: audience, keys: keys, suffix: suffix)
        configuration.nameClaim = nameClaim
        configuration.roleClaim = roleClaim
        return configuration
    }
}
