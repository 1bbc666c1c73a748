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

        /// As counts name it.
        var platformName: String { platform.rawValue.lowercased() }
    }

    private var entries: [Int64: Entry] = [:]
    private var ordinals: [InstallationID: Int64] = [:]
    private var index = TagIndex()
    /// The ordinal of each target's installation.
    private var owners: [Int: Int64] = [:]
    private var nextTarget = 0
    private var standing = StandingCounts()
    /// Changes so far, to tell whether there was one between two looks.
    private(set) var changes = 0
    /// Installations of each platform, by its name in lower case.
    private(set) var platformCounts: [String: Int] = [:]
    /// When installations go by themselves, by their ordinals: few say so.
    private var expirations: [Int64: Int64] = [:]

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
        changes += 1
        standing.add(entry)
        platformCounts[entry.platformName, default: 0] += 1
        ordinals[entry.id] = entry.ordinal
        expirations[entry.ordinal] = stored.expiresAt
        return entry
    }

    mutating func remove(ordinal: Int64) {
        guard let entry = entries.removeValue(forKey: ordinal) else { return }
        changes += 1
        expirations[ordinal] = nil
        standing.remove(entry)
        platformCounts[entry.platformName, default: 0] -= 1
        for (target, tags) in targets(of: entry) {
            index.remove(target, tags: tags)
            owners[target] = nil
        }
        if ordinals[entry.id] == ordinal { ordinals[entry.id] = nil }
    }

    /// Installations whose own time has come.
    func expired(at now: Int64, limit: Int) -> [InstallationID] {
        expirations.lazy.filter { $0.value <= now }.prefix(limit).compactMap { entries[$0.key]?.id }
    }

    /// The installations that a template send with this expression reaches, `nil` being a broadcast.
    func recipients(of expression: TagExpression?) -> Set<Int64> {
        Set(index.targets(matching: expression).compactMap { owners[$0] })
    }

    /// How many installations of each platform a template send reaches.
    ///
    /// With `keeping`, the counts are kept up to date from now on: for expressions that will be asked for again.
    mutating func counts(of expression: TagExpression?, keeping: Bool = false) -> RecipientCounts {
        if let known = standing[expression] { return known }
        var platforms: [String: Int] = [:]
        for ordinal in recipients(of: expression) {
            guard let entry = entries[ordinal] else { continue }
            platforms[entry.platformName, default: 0] += 1
        }
        if keeping { standing.keep(platforms, of: expression) }
        return RecipientCounts(total: platforms.values.reduce(0, +), platforms: platforms)
    }

    /// Each template of an installation with the tags that count for it.
    private func targets(of entry: Entry) -> [(Int, Set<Tag>)] {
        entry.recipient.targets.enumerated().map { offset, target in
            (entry.firstTarget + offset, entry.recipient.tags.union(target.tags))
        }
    }
}
