import HubProtocol
import HubRouting
import Settings

/// Limits what holders of Listen, whose key every agent and phone has, may store in a hub; holders of Manage are not
/// limited.
///
/// Changes in one commit do not see each other, so a hub may exceed its quota by the size of one commit.
package struct ListenQuota: Sendable {
    /// Maximum number of installations and registrations.
    package var count = HubSettings.listenRegistrations.fallback
    /// Maximum size in bytes, as the hub estimates it: about four times the JSON of an agent's installation.
    package var bytes = Int(HubSettings.listenSize.fallback)

    package init() {}

    /// - Throws: 403 with ``ProtocolError/Code/listenQuota`` if a change would exceed the quota; a change that makes
    ///   nothing larger is always accepted.
    func check(_ changes: [TargetChange], _ usage: ListenUsage) throws(ProtocolError) {
        for change in changes { try check(change, usage) }
    }

    private func check(_ change: TargetChange, _ usage: ListenUsage) throws(ProtocolError) {
        let (old, new) = (change.old?.charge ?? 0, change.new?.charge ?? 0)
        guard new > old else { return }
        if old == 0, usage.count >= count {
            throw .listenQuotaExceeded(
                "This hub holds \(count) installations and registrations that were written with Listen",
                setting: "listen-registrations"
            )
        }
        if usage.bytes - old + new > bytes {
            throw .listenQuotaExceeded(
                "The installations and registrations of this hub that were written with Listen would exceed "
                    + "\(bytes) bytes",
                setting: "listen-size"
            )
        }
    }
}

extension ProtocolError {
    fileprivate static func listenQuotaExceeded(_ reason: String, setting: String) -> ProtocolError {
        ProtocolError(
            .listenQuota,
            "ListenQuotaExceeded: \(reason), which is the maximum. Delete some, or raise 'hub: \(setting)'."
        )
    }
}
