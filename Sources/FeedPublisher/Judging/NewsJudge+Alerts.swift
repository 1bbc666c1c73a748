internal import Feeds
internal import FoundationEssentials
internal import HubProtocol

extension Candidate {
    var kind: Alert.Kind { alert?.kind ?? .alert }

    /// True if the entry is a message about other alerts.
    var replacesOthers: Bool { Self.replacesOthers(entry) }

    static func replacesOthers(_ entry: Entry) -> Bool {
        switch entry.alert?.kind {
        case .update, .cancel: true
        case .alert, .acknowledgement, nil: false
        }
    }

    /// False for an alert without a sender, whose keys count within its feed only.
    var isSenderKnown: Bool { alert?.sender != nil }

    /// True if an alert was sent before another.
    ///
    /// Of alerts with the same time, updates follow first alerts, and entries follow those below them in the document.
    func wasSent(before other: Candidate, now: Date) -> Bool {
        func order(_ candidate: Candidate) -> (Date, Int, Int) {
            let rank = Alert.Kind.allCases.firstIndex(of: candidate.kind) ?? 0
            return (candidate.alert?.sent ?? now, rank, -candidate.index)
        }
        return order(self) < order(other)
    }
}

/// The keys that identify alerts.
///
/// Only an alert's own identifier counts: warnings of many areas share one headline, and all warnings of a service
/// share one page (feeds.md §2).
extension NewsJudge {
    /// Returns the key of an alert; each language announces it separately or in a shared message, like any story.
    func alertKey(_ reference: String) -> EntryKey { feedLanguage.own(EntryKey(alert: reference)) }

    /// Returns the keys of the alerts that an entry replaces, except itself: messages of its own sender.
    ///
    /// A sender cannot replace or cancel the alerts of another. If the sender is not named, the keys count within the
    /// feed only; see ``Candidate/isSenderKnown``.
    func references(of entry: Entry) -> Set<EntryKey> {
        guard Candidate.replacesOthers(entry), let alert = entry.alert else { return [] }
        let own = alert.replaces.filter { reference in alert.sender.map { reference.hasPrefix("\($0),") } ?? true }
        let keys = own.suffix(AlertChains.maximumReferences).map(alertKey)
        return Set(keys).subtracting([alert.reference.map(alertKey)].compactMap(\.self))
    }
}
