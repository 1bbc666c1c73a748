package import FairShares
package import HubProtocol

/// The targets that a hub's messages can reach.
///
/// Registrations of push platforms are represented by their tags only, `stream` installations completely.
package struct Registry: Sendable {
    /// A `stream` installation with the properties that its streams need.
    package struct Entry: Sendable {
        package let ordinal: Ordinal
        package let id: InstallationID
        package let channelDigest: [UInt8]
        package let createdSequence: LogSequence
        package let recipient: Recipient

        package init(
            ordinal: Ordinal,
            id: InstallationID,
            channelDigest: [UInt8],
            createdSequence: LogSequence,
            recipient: Recipient
        ) {
            self.ordinal = ordinal
            self.id = id
            self.channelDigest = channelDigest
            self.createdSequence = createdSequence
            self.recipient = recipient
        }
    }

    /// The kind of target that a message of one format is for.
    private struct Kind: Hashable {
        /// Folded: reports and metrics print it.
        let platform: Platform
        let isTemplate: Bool

        init(platform: Platform, isTemplate: Bool) {
            self.platform = platform.folded
            self.isTemplate = isTemplate
        }

        init(_ target: Target) { self.init(platform: target.platform, isTemplate: target.isTemplate) }
    }

    private var entries: [Ordinal: Entry] = [:]
    private var ordinals: [InstallationID: Ordinal] = [:]
    private var index = TagIndex()
    private var kinds: [Kind: OrdinalSet] = [:]
    /// All templates, of every platform.
    private var templates = OrdinalSet()
    /// The installation of each target on platform `stream`.
    private var owners: [Ordinal: Ordinal] = [:]
    /// For each `stream` installation whose templates all have the same tags: all but one of them, because they match
    /// together and count once.
    private var further = OrdinalSet()
    /// All templates of `stream` installations whose templates differ in tags, because each must be matched separately.
    private var mixed = OrdinalSet()
    /// The hashes of the tags of `stream` templates, until all targets are loaded.
    private var loadedTags: [Ordinal: Int]? = [:]
    /// Number of changes so far; the same number in two reads means that the registry has not changed between them.
    private(set) var changes = 0
    /// Usage by records that were last written with Listen.
    package private(set) var listenUsage = ListenUsage()
    /// The same by group.
    package private(set) var listenShares = ShareUsage()
    /// Number of installations by platform.
    private(set) var installationCounts: [Platform: Int] = [:]

    package init() {}

    package subscript(id: InstallationID) -> Entry? { ordinals[id].flatMap { entries[$0] } }
    subscript(ordinal: Ordinal) -> Entry? { entries[ordinal] }

    /// Number of registrations by platform, native and template ones.
    var registrationCounts: [Platform: Int] {
        kinds.reduce(into: [:]) { $0[$1.key.platform, default: 0] += $1.value.count }
    }

    // MARK: - Changes

    /// Puts a new or changed `stream` installation.
    package mutating func put(_ entry: Entry) {
        entries[entry.ordinal] = entry
        ordinals[entry.id] = entry.ordinal
        changes += 1
    }

    /// Removes a `stream` installation; does nothing for other platforms.
    mutating func remove(stream ordinal: Ordinal) {
        guard let entry = entries.removeValue(forKey: ordinal) else { return }
        if ordinals[entry.id] == ordinal { ordinals[entry.id] = nil }
        changes += 1
    }

    /// Applies the changes of a write to targets, all those of an installation at once.
    mutating func apply(_ changes: [TargetChange]) {
        for change in changes {
            if let old = change.old { remove(old) }
            if let new = change.new { insert(new) }
        }
        let streamTemplates = changes.compactMap(\.new).filter { $0.platform == .stream && $0.isTemplate }
        if let first = streamTemplates.first, streamTemplates.allSatisfy({ $0.tags == first.tags }) {
            for target in streamTemplates.dropFirst() { further.insert(target.ordinal) }
        } else {
            for target in streamTemplates { mixed.insert(target.ordinal) }
        }
        self.changes += 1
    }

    package mutating func insert(_ target: Target) {
        index.insert(target.ordinal, tags: target.tags)
        kinds[Kind(target), default: OrdinalSet()].insert(target.ordinal)
        if target.isTemplate { templates.insert(target.ordinal) }
        if target.isMain { installationCounts[Kind(target).platform, default: 0] += 1 }
        listenUsage.add(target.charge)
        if let writer = target.writer { listenShares.add(target.charge, to: writer.groups) }
        guard target.platform == .stream else { return }
        owners[target.ordinal] = target.installation
        if target.isTemplate { loadedTags?[target.ordinal] = target.tags.hashValue }
    }

    private mutating func remove(_ target: Target) {
        index.remove(target.ordinal, tags: target.tags)
        kinds[Kind(target)]?.remove(target.ordinal)
        if target.isTemplate { templates.remove(target.ordinal) }
        if target.isMain { installationCounts[Kind(target).platform, default: 0] -= 1 }
        listenUsage.remove(target.charge)
        if let writer = target.writer { listenShares.remove(target.charge, from: writer.groups) }
        guard owners.removeValue(forKey: target.ordinal) != nil else { return }
        further.remove(target.ordinal)
        mixed.remove(target.ordinal)
    }

    /// Finds the `stream` installations with several templates, once all targets are loaded.
    mutating func finishLoading() {
        var first: [Ordinal: Ordinal] = [:]
        var mixedOwners: Set<Ordinal> = []
        for target in (loadedTags ?? [:]).keys {
            guard let owner = owners[target] else { continue }
            guard let other = first[owner] else {
                first[owner] = target
                continue
            }
            further.insert(target)
            if loadedTags?[other] != loadedTags?[target] { mixedOwners.insert(owner) }
        }
        for (target, owner) in owners where mixedOwners.contains(owner) && templates.contains(target) {
            further.remove(target)
            mixed.insert(target)
        }
        loadedTags = nil
    }

    // MARK: - Matching

    /// The registrations that a message reaches; an expression of `nil` is a broadcast.
    func targets(of expression: TagExpression?, _ format: MessageFormat) -> OrdinalSet {
        index.ordinals(matching: expression, of: candidates(format))
    }

    private func candidates(_ format: MessageFormat) -> OrdinalSet {
        guard let platform = format.platform else { return format == .template ? templates : OrdinalSet() }
        return kinds[Kind(platform: platform, isTemplate: false)] ?? OrdinalSet()
    }

    /// The targets of `stream` installations that a message reaches.
    func streamTargets(of expression: TagExpression?, _ format: MessageFormat) -> OrdinalSet {
        guard format == .template || format == .stream else { return OrdinalSet() }
        let candidates = kinds[Kind(platform: .stream, isTemplate: format == .template)] ?? OrdinalSet()
        return index.ordinals(matching: expression, of: candidates)
    }

    /// The `stream` installations that a message is for; `nil` if they have more than `limit` matching targets.
    func streams(for message: RoutedMessage, limit: Int) -> Set<Ordinal>? {
        guard message.installations == nil else { return named(by: message) }
        let targets = streamTargets(of: message.expression, message.format)
        guard targets.count <= limit else { return nil }
        return Set(targets.lazy.compactMap { owners[$0] })
    }

    /// The `stream` installations that a message is for with their recipients, a limited number of targets at a time.
    ///
    /// - Returns: The installations among the `limit` targets after `target`, and the last target examined; `nil` if there
    ///   are no more.
    package func recipients(
        of message: RoutedMessage,
        afterTarget target: Ordinal,
        limit: Int
    ) -> (streams: [Ordinal: Recipient], last: Ordinal?) {
        let named: any Collection<Ordinal>
        var last: Ordinal?
        if message.installations != nil {
            named = self.named(by: message)
        } else {
            let page = streamTargets(of: message.expression, message.format).ordinals(above: target, limit: limit)
            named = page.compactMap { owners[$0] }
            last = page.last
        }
        var streams: [Ordinal: Recipient] = [:]
        for ordinal in named { streams[ordinal] = entries[ordinal]?.recipient }
        return (streams, last)
    }

    /// The `stream` installations that a direct or a test send names.
    private func named(by message: RoutedMessage) -> Set<Ordinal> {
        let named = (message.installations ?? []).reduce(into: Set<Ordinal>()) { named, tag in
            named.formUnion(index[tag].lazy.compactMap { owners[$0] })
        }
        return named.filter { entries[$0]?.recipient.receives(message) == true }
    }

    /// A sample of a message's recipients: `stream` installations, and the ordinals of other registrations.
    package func sample(
        of expression: TagExpression?,
        _ format: MessageFormat,
        limit: Int
    ) -> (streams: [InstallationID], others: [Ordinal]) {
        var (streams, others): ([InstallationID], [Ordinal]) = ([], [])
        for ordinal in targets(of: expression, format) {
            guard streams.count + others.count < limit else { break }
            if let owner = owners[ordinal] {
                if let id = entries[owner]?.id, !streams.contains(id) { streams.append(id) }
            } else {
                others.append(ordinal)
            }
        }
        return (streams, others)
    }

    /// The number of recipients of a message: installations on platform `stream`; on other platforms registrations,
    /// each of which is one notification.
    func counts(of expression: TagExpression?, _ format: MessageFormat) -> RecipientCounts {
        let targets = targets(of: expression, format)
        var platforms: [String: Int] = [:]
        for (kind, members) in kinds where kind.isTemplate == (format == .template) {
            let count = members.intersectionCount(targets) - (kind.platform == .stream ? repeated(targets) : 0)
            if count > 0 { platforms["\(kind.platform)"] = count }
        }
        return RecipientCounts(total: platforms.values.reduce(0, +), platforms: platforms)
    }

    /// The registrations of push platforms that a message reaches, by platform.
    package func pushTargets(of expression: TagExpression?, _ format: MessageFormat) -> [Platform: OrdinalSet] {
        let kinds = kinds.filter { $0.key.isTemplate == (format == .template) && $0.key.platform != .stream }
        // A hub that serves only agents has no such registrations.
        guard !kinds.isEmpty else { return [:] }
        let targets = targets(of: expression, format)
        var platforms: [Platform: OrdinalSet] = [:]
        for (kind, members) in kinds {
            let reached = members.intersection(targets)
            if !reached.isEmpty { platforms[kind.platform] = reached }
        }
        return platforms
    }

    /// The number of targets that are further templates of a `stream` installation already in the set.
    private func repeated(_ targets: OrdinalSet) -> Int {
        let several = targets.intersection(mixed)
        return targets.intersectionCount(further) + several.count - Set(several.lazy.compactMap { owners[$0] }).count
    }

    /// The registrations that carry a tag and have higher ordinals than `ordinal`, ascending; without those of platform
    /// `stream`.
    package func registrations(taggedBy tag: Tag, after ordinal: Ordinal = 0, limit: Int) -> [Ordinal] {
        var tagged = index[tag]
        for isTemplate in [false, true] {
            if let streams = kinds[Kind(platform: .stream, isTemplate: isTemplate)] {
                tagged = tagged.subtracting(streams)
            }
        }
        return tagged.ordinals(above: ordinal, limit: limit)
    }
}
