import HubProtocol
import HubStore

/// Every installation of a hub, in memory: built from the store at the start and kept by the writer, after each
/// commit.
struct Registry: Sendable {
    /// An installation with what routing needs of it.
    struct Entry: Sendable {
        let ordinal: Int64
        let id: InstallationID
        let platform: Platform
        let channelDigest: [UInt8]?
        let createdSequence: Int64
        let recipient: Recipient
        fileprivate let firstTarget: Int
    }

    private var entries: [Int64: Entry] = [:]
    private var ordinals: [InstallationID: Int64] = [:]
    private var index = TagIndex()
    /// The ordinal of each target's installation.
    private var owners: [Int: Int64] = [:]
    private var nextTarget = 0
    /// Installations of each platform, by its name in lower case.
    private(set) var platformCounts: [String: Int] = [:]

    var count: Int { entries.count }

    subscript(id: InstallationID) -> Entry? { ordinals[id].flatMap { entries[$0] } }
    subscript(ordinal: Int64) -> Entry? { entries[ordinal] }

    /// Puts an installation in the place of what stood under its ordinal.
    @discardableResult
    mutating func put(_ stored: StoredInstallation, _ recipient: Recipient) -> Entry {
        remove(ordinal: stored.ordinal)
        let entry = Entry(
            ordinal: stored.ordinal,
            id: stored.installation.id,
            platform: stored.installation.platform,
            channelDigest: stored.channelDigest,
            createdSequence: stored.createdSequence,
            recipient: recipient,
            firstTarget: nextTarget
        )
        for (target, tags) in targets(of: entry) {
            index.insert(target, tags: tags)
            owners[target] = entry.ordinal
        }
        nextTarget += max(recipient.targets.count, 1)
        entries[entry.ordinal] = entry
        platformCounts[entry.platform.name, default: 0] += 1
        ordinals[entry.id] = entry.ordinal
        return entry
    }

    mutating func remove(ordinal: Int64) {
        guard let entry = entries.removeValue(forKey: ordinal) else { return }
        platformCounts[entry.platform.name, default: 0] -= 1
        for (target, tags) in targets(of: entry) {
            index.remove(target, tags: tags)
            owners[target] = nil
        }
        if ordinals[entry.id] == ordinal { ordinals[entry.id] = nil }
    }

    /// The installations that a template send with this expression reaches, `nil` being a broadcast.
    func recipients(of expression: TagExpression?) -> Set<Int64> {
        Set(index.targets(matching: expression).compactMap { owners[$0] })
    }

    /// How many installations of each platform a template send reaches.
    func counts(of expression: TagExpression?) -> RecipientCounts {
        var platforms: [String: Int] = [:]
        for ordinal in recipients(of: expression) {
            guard let entry = entries[ordinal] else { continue }
            platforms[entry.platform.name, default: 0] += 1
        }
        return RecipientCounts(total: platforms.values.reduce(0, +), platforms: platforms)
    }

    /// Each template of an installation with the tags that count for it.
    private func targets(of entry: Entry) -> [(Int, Set<Tag>)] {
        entry.recipient.targets.enumerated().map { offset, target in
            (entry.firstTarget + offset, entry.recipient.tags.union(target.tags))
        }
    }
}

extension Platform {
    /// As counts name it.
    fileprivate var name: String { rawValue.lowercased() }
}
