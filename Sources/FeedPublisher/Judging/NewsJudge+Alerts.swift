internal import Feeds
internal import FoundationEssentials

/// The keys that identify alerts.
///
/// Only an alert's own identifier counts: warnings of many areas share one headline, and all warnings of a service
/// share one page (feeds.md §2).
extension NewsJudge {
    func alert(at position: Int) -> Alert? { feed.entries[identities[position].index].alert }

    /// Returns the key of an alert; each language announces it separately or in a shared message, like any story.
    func alertKey(of position: Int) -> EntryKey? { alert(at: position)?.reference.map(alertKey) }

    private func alertKey(_ reference: String) -> EntryKey { voice.own(EntryKey(alert: reference)) }

    func kind(_ position: Int) -> Alert.Kind { alert(at: position)?.kind ?? .alert }

    /// True if the entry is a message about other alerts.
    func replacesOthers(_ position: Int) -> Bool {
        switch kind(position) {
        case .update, .cancel: true
        case .alert, .acknowledgement: false
        }
    }

    /// Returns the keys of the alerts that an entry replaces, except itself: messages of its own sender.
    ///
    /// A sender cannot replace or cancel the alerts of another. If the sender is not named, the keys count within the
    /// feed only; see ``isSenderKnown(_:)``.
    func references(of position: Int) -> Set<EntryKey> {
        guard replacesOthers(position), let alert = alert(at: position) else { return [] }
        let own = alert.replaces.filter { reference in alert.sender.map { reference.hasPrefix("\($0),") } ?? true }
        let keys = own.suffix(AlertChains.maximumReferences).map(alertKey)
        return Set(keys).subtracting([alertKey(of: position)].compactMap(\.self))
    }

    func isSenderKnown(_ position: Int) -> Bool { alert(at: position)?.sender != nil }

    func sent(_ position: Int) -> Date { alert(at: position)?.sent ?? now }

    /// True if an alert was sent before another.
    ///
    /// Of alerts with the same time, updates follow first alerts, and entries follow those below them in the document.
    func wasSentBefore(_ left: Int, _ right: Int) -> Bool {
        func rank(_ position: Int) -> Int { Alert.Kind.allCases.firstIndex(of: kind(position)) ?? 0 }
        let order = (sent(left), rank(left), -identities[left].index)
        return order < (sent(right), rank(right), -identities[right].index)
    }
}
