import FairShares
import HubProtocol
import HubRouting
import NetworkAddresses
import Settings

/// Limits what holders of Listen, whose key every agent and phone has, may store in a hub; holders of Manage are not
/// limited.
///
/// A network's part of the quota, and that of a key, are limited, too: nothing that is stored makes room for others, so
/// some room must be left for them. Clients that cannot be distinguished have no such limit. Changes in one commit do not
/// see each other, so a hub may exceed its quota by the size of one commit.
package struct ListenQuota: Sendable {
    /// Maximum number of installations and registrations.
    package var count = HubSettings.listenRegistrations.fallback
    /// Maximum size in bytes, as the hub estimates it: about four times the JSON of an agent's installation.
    package var bytes = Int(HubSettings.listenSize.fallback)

    package init() {}

    /// Checks changes by a holder of Listen; `nil` is a holder of Manage.
    ///
    /// - Throws: 403 with ``ProtocolError/Code/listenQuota`` if a change would exceed the quota; a change that makes
    ///   nothing larger is always accepted.
    func check(
        _ changes: [TargetChange],
        by writer: ListenWriter?,
        _ usage: ListenUsage,
        _ shares: ShareUsage
    ) throws(ProtocolError) {
        guard let writer else { return }
        for change in changes {
            let (old, new) = (change.old?.charge ?? 0, change.new?.charge ?? 0)
            guard new > old else { continue }
            try check(growth: new - old, isNew: old == 0, usage)
            // What was stored before can be changed as long as the whole quota has room.
            if old == 0 { try checkShare(of: writer, new, usage, shares) }
        }
    }

    private func check(growth: Int, isNew: Bool, _ usage: ListenUsage) throws(ProtocolError) {
        if isNew, usage.count >= count {
            throw .listenQuotaExceeded(
                "This hub holds \(count) installations and registrations that were written with Listen",
                setting: "listen-registrations"
            )
        }
        if usage.bytes + growth > bytes {
            throw .listenQuotaExceeded(
                "The installations and registrations of this hub that were written with Listen would exceed "
                    + "\(bytes) bytes",
                setting: "listen-size"
            )
        }
    }

    private func checkShare(
        of writer: ListenWriter,
        _ size: Int,
        _ usage: ListenUsage,
        _ shares: ShareUsage
    ) throws(ProtocolError) {
        guard let network = writer.network else { return }
        let ofKey = shares.use(of: .key(writer.rule))
        if ofKey.count >= ShareUsage.partOfKey(of: count) {
            throw .shareExceeded("the rule '\(writer.rule)'", setting: "listen-registrations")
        }
        if ofKey.bytes + size > ShareUsage.partOfKey(of: bytes) {
            throw .shareExceeded("the rule '\(writer.rule)'", setting: "listen-size")
        }
        for group in network.path {
            let use = shares.use(of: .network(group))
            let isNew = group == network && use.count == 0
            if use.count >= ShareUsage.part(of: count, used: usage.count, bits: group.bits)
                || isNew && ShareUsage.isKept(of: count, used: usage.count)
            {
                throw .shareExceeded("the network \(group)", setting: "listen-registrations")
            }
            if use.bytes + size > ShareUsage.part(of: bytes, used: usage.bytes, bits: group.bits)
                || isNew && ShareUsage.isKept(of: bytes, used: usage.bytes)
            {
                throw .shareExceeded("the network \(group)", setting: "listen-size")
            }
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

    fileprivate static func shareExceeded(_ group: String, setting: String) -> ProtocolError {
        ProtocolError(
            .listenQuota,
            "ListenQuotaExceeded: The installations and registrations that clients of \(group) have written with Listen "
                + "use their part of '\(setting)', which shrinks as it fills. What is stored can be changed; delete some, "
                + "or raise 'hub: \(setting)'."
        )
    }
}
