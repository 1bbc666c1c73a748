import ArgumentParser
import HostSystem
import NetworkAddresses
import Settings
import StartupChecks

/// Flags for roles, and for users that an identity provider or a proxy signs in.
struct IdentityOptions: ParsableArguments {
    @Option(BackendSettings.mayNotifyRoles)
    var mayNotifyRoles: [String]?

    @Option(BackendSettings.oidcIssuer)
    var oidcIssuer: String?

    @Option(BackendSettings.oidcAudience)
    var oidcAudience: String?

    @Option(BackendSettings.oidcKeysURL)
    var oidcKeysURL: String?

    @Option(BackendSettings.oidcKeysFile)
    var oidcKeysFile: String?

    @Option(BackendSettings.oidcNameClaim)
    var oidcNameClaim: String?

    @Option(BackendSettings.oidcSuffix)
    var oidcSuffix: String?

    @Option(BackendSettings.oidcRoleClaim)
    var oidcRoleClaim: String?

    @Option(BackendSettings.userHeaderProxies)
    var userHeaderProxies: [AddressBlock]?

    @Option(BackendSettings.userHeader)
    var userHeader: String?

    @Option(BackendSettings.userHeaderSuffix)
    var userHeaderSuffix: String?

    /// Returns the settings, overridden by these flags.
    ///
    /// - Throws: ``Failure`` for settings that contradict each other.
    func resolved(_ settings: Settings) throws -> IdentitySettings {
        var identity = IdentitySettings(settings)
        identity.mayNotifyRoles = mayNotifyRoles ?? identity.mayNotifyRoles
        identity.issuer = oidcIssuer ?? identity.issuer
        identity.audience = oidcAudience ?? identity.audience
        identity.keysURL = oidcKeysURL ?? identity.keysURL
        identity.keysFile = oidcKeysFile ?? identity.keysFile
        identity.nameClaim = oidcNameClaim ?? identity.nameClaim
        identity.suffix = oidcSuffix ?? identity.suffix
        identity.roleClaim = oidcRoleClaim ?? identity.roleClaim
        identity.proxies = userHeaderProxies ?? identity.proxies
        identity.header = userHeader ?? identity.header
        identity.headerSuffix = userHeaderSuffix ?? identity.headerSuffix
        if let problem = identity.problems().first { throw Failure(.badConfiguration, problem) }
        return identity
    }
}
