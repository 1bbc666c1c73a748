internal import FeedLists
internal import FoundationEssentials

extension FeedPoll {
    /// Age, and number of polls, after which a permanent redirect is followed (feeds.md §10).
    private static let moveAge: Duration = .seconds(7 * 86_400)
    private static let movePolls = 3

    /// Stores a permanent redirect after some polls and days; at once if only the scheme became `https`, or if it leads
    /// back to the list's own address.
    ///
    /// - Returns: A line for people, if they should change their list.
    func follow(_ target: String?, _ record: inout FeedRecord, file: String) -> PublishLine? {
        guard let target, let address = try? FeedAddress(parsing: target, allowsFile: false),
            address.comparable != source.address.comparable
        else {
            record.move = nil
            if target != nil { record.movedURL = nil }
            return nil
        }
        let asked = record.asked(source)
        guard address.comparable != asked.comparable else { return nil }
        let now = environment.now()
        var move = record.move ?? MoveCandidate(url: target, firstSeen: now, polls: 0)
        if move.url != target { move = MoveCandidate(url: target, firstSeen: now, polls: 0) }
        move.polls += 1
        record.move = move
        let isUpgrade =
            address.comparableWithoutScheme == asked.comparableWithoutScheme
            && address.text.hasPrefix("https:")
        let isOld =
            move.polls >= Self.movePolls
            && now.timeIntervalSince(move.firstSeen) >= Self.moveAge.inSeconds
        guard isUpgrade || isOld else { return nil }
        record.movedURL = target
        record.move = nil
        guard !isUpgrade else { return nil }
        return PublishLine(
            .hint,
            "feed '\(source.address.publicText)' has moved permanently to '\(address.publicText)'; change it in '\(file)'"
        )
    }
}
