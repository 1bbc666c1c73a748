import Foundation
import HostSystem
import HubProtocol
import NetworkAddresses
import Settings

/// The answers of 'newswire setup': decisions of an operator before a hub is used.
struct SetupAnswers: Equatable {
    enum Certificate: Equatable {
        /// The hub's own authority signs it.
        case own
        /// A web server on this machine has the certificate.
        case proxy
        case files(certificate: String, key: String)
    }

    enum Feeds: Equatable {
        /// The lists stay as they are.
        case present
        case categories([String])
        /// The path of an OPML file, whose feeds are added.
        case document(String)
    }

    /// The name by which other machines reach the hub; `nil` for a hub of this machine alone.
    var hostName: HostName?
    var certificate = Certificate.own
    /// `nil` for the default.
    var pages: PageAccess?
    var feeds = Feeds.present
    /// The contact address for browsers' push services; `nil` if the hub sends no notifications to browsers.
    var contact: String?
    var wantsOperatorLink = true

    /// The proxies on this machine, in both families.
    private static let localProxies = ["127.0.0.1", "::1"]

    init() {}

    /// The answers that the present settings amount to.
    init(_ settings: Settings) {
        let proxies = settings.value(HubSettings.trustedProxies) ?? []
        let isLocal = HostName(settings.value(HubSettings.listen))?.isLoopback ?? false
        let address = settings.value(HubSettings.publicAddress)
        let hasProxy = !proxies.isEmpty || address != nil
        if !isLocal || hasProxy { hostName = address?.hostName ?? settings.value(HubSettings.hostNames)?.first }
        if let file = settings.value(HubSettings.tlsCertificate), let key = settings.value(HubSettings.tlsKey) {
            certificate = .files(certificate: file, key: key)
        } else if isLocal, hasProxy {
            certificate = .proxy
        }
        pages = settings.value(HubSettings.pages)
        contact = settings.value(HubSettings.pushContact)
    }

    /// True if other machines connect to the hub itself.
    var isReachedDirectly: Bool { hostName != nil && certificate != .proxy }

    /// Returns the settings to change so that these answers count; none where the present settings amount to them.
    func changes(of settings: Settings) -> [SettingChange] {
        let present = SetupAnswers(settings)
        var changes: [SettingChange] = []
        let hasOtherReach = hostName != present.hostName || certificate != present.certificate
        if hasOtherReach { changes += reach(settings.value(HubSettings.hostNames) ?? [], settings) }
        // The address alone, without the proxy, is in files that were written by hand.
        if hasOtherReach || isUntrusted(settings) { changes += trustedProxies(settings) }
        let address = publicAddress(settings)
        if address != settings.value(HubSettings.publicAddress) {
            let value = address.map { SettingChange.Value.word("https://\($0)") }
            changes.append(SettingChange(HubSettings.publicAddress.entry, value ?? .none))
        }
        if pages != present.pages {
            changes.append(SettingChange(HubSettings.pages.entry, pages.map { .word($0.rawValue) } ?? .none))
        }
        if contact != present.contact {
            changes.append(SettingChange(HubSettings.pushContact.entry, contact.map { .word($0) } ?? .none))
        }
        return changes
    }

    /// Returns the address by which a proxy is reached; `nil` if other machines use the hub's own port.
    ///
    /// A port that the operator has chosen stays.
    func publicAddress(_ settings: Settings) -> Authority? {
        guard let hostName else { return nil }
        let present = settings.value(HubSettings.publicAddress)?.at(hostName)
        if certificate == .proxy { return present ?? Authority(hostName, port: 0) }
        return SetupAnswers(settings).certificate == .proxy ? nil : present
    }

    private func reach(_ names: [HostName], _ settings: Settings) -> [SettingChange] {
        var changes: [SettingChange] = []
        let isLocal = HostName(settings.value(HubSettings.listen))?.isLoopback ?? false
        if isReachedDirectly {
            // An address that the operator has chosen stays.
            if isLocal { changes.append(SettingChange(HubSettings.listen.entry, .word("0.0.0.0"))) }
        } else if !isLocal {
            changes.append(SettingChange(HubSettings.listen.entry, .none))
        }
        if let hostName {
            if names.first != hostName {
                let others = names.filter { $0 != hostName }
                let all = ([hostName] + others).map { "\($0)" }
                changes.append(SettingChange(HubSettings.hostNames.entry, .list(all)))
            }
        } else if !names.isEmpty {
            changes.append(SettingChange(HubSettings.hostNames.entry, .none))
        }
        var files: (certificate: String, key: String)?
        if case .files(let certificate, let key) = certificate, hostName != nil { files = (certificate, key) }
        for (setting, path) in [
            (HubSettings.tlsCertificate, files?.certificate), (HubSettings.tlsKey, files?.key),
        ] where settings.value(setting) != path {
            changes.append(SettingChange(setting.entry, path.map { .word($0) } ?? .none))
        }
        return changes
    }

    /// True if a proxy leads to the hub, and the hub does not trust one: all clients of the proxy would count as one.
    private func isUntrusted(_ settings: Settings) -> Bool {
        hostName != nil && certificate == .proxy && (settings.value(HubSettings.trustedProxies) ?? []).isEmpty
    }

    private func trustedProxies(_ settings: Settings) -> [SettingChange] {
        if isUntrusted(settings) {
            return [SettingChange(HubSettings.trustedProxies.entry, .list(Self.localProxies))]
        }
        let proxies = (settings.value(HubSettings.trustedProxies) ?? []).map { "\($0)" }
        // Those of the operator stay.
        guard hostName == nil || certificate != .proxy, proxies == Self.localProxies else { return [] }
        return [SettingChange(HubSettings.trustedProxies.entry, .none)]
    }
}
