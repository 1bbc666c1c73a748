internal import Feeds
internal import FoundationEssentials

/// The keys that alerts are known by.
///
/// By what they call themselves and by nothing else: one headline stands on the warnings of many areas, and one page on
/// all of a service (feeds.md §2).
extension NewsJudge {
    func alert(at position: Int) -> Alert? { feed.entries[identities[position].index].alert }

    /// Each language tells an alert by itself, or in one message with others, as any story.
    func alertKey(of position: Int) -> EntryKey? { alert(at: position)?.reference.map(alertKey) }

    private func alertKey(_ reference: String) -> EntryKey { voice.own(EntryKey(alert: reference)) }

    func kind(_ position: Int) -> Alert.Kind { alert(at: position)?.kind ?? .alert }

    /// True if it is a message about others.
    func replacesOthers(_ position: Int) -> Bool {
        switch kind(position) {
        case .update, .cancel: true
        case .alert, .acknowledgement: false
        }
    }

    /// The keys of what it replaces, but for itself: messages of its own sender.
    ///
    /// Nobody replaces or cancels another's alerts. Where it does not name its sender, they count within its feed only,
    /// see ``isSenderKnown(_:)``.
    func references(of position: Int) -> Set<EntryKey> {
        guard replacesOthers(position), let alert = alert(at: position) else { return [] }
        let own = alert.replaces.filter { reference in alert.sender.map { reference.hasPrefix("\($0),") } ?? true }
        let keys = own.suffix(AlertChains.maximumReferences).map(alertKey)
        return Set(keys).subtracting([alertKey(of: position)].compactMap(\.self))
    }

    func isSenderKnown(_ position: Int) -> Bool { alert(at: position)?.sender != nil }

    func sent(_ position: Int) -> Date { alert(at: position)?.sent ?? now }

    /// The order of sending; where that does not tell, updates follow alerts, and what stands higher in the document
    /// follows what stands lower.
    func wasSentBefore(_ left: Int, _ right: Int) -> Bool {
        func rank(_ position: Int) -> Int { Alert.Kind.allCases.firstIndex(of: kind(position)) ?? 0 }
        let order = (sent(left), rank(left), -identities[left].index)
        return order < (sent(right), rank(right), -identities[right].index)
    }
}
