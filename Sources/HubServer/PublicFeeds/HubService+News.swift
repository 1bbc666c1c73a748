package import HubProtocol
import HubRouting
package import WebPages

/// The news of some of a hub's categories, as of one moment.
package struct HubNews: Sendable {
    /// The newest stories and withdrawals, the newest first.
    package let tellings: [Telling]
    /// The end of the log, where a stream goes on after them.
    package let position: StreamPosition
    /// Why messages after an earlier position may be missing; `nil` if none are.
    package let gap: String?
}

extension HubService {
    /// The name of a hub as it was given at first; `nil` for one that is unknown or disabled.
    package func served(_ name: HubName) -> HubName? {
        guard let hub = try? directory.hub(named: name.text), !hub.status.isDisabled else { return nil }
        return hub.record.name
    }

    /// When a hub was made, which tells it from an earlier one of its name; `nil` for one that was deleted meanwhile.
    ///
    /// It throws a `DatabaseError`.
    package func createdAt(_ name: HubName) async throws -> Timestamp? {
        guard let hub = try? directory.hub(named: name.text) else { return nil }
        return try await hub.publicFeeds.createdAt(hub)
    }

    /// True for a hub that is there, disabled or not.
    package func has(_ name: HubName) -> Bool { (try? directory.hub(named: name.text)) != nil }

    /// Reads the newest news of some categories that everybody may read.
    ///
    /// `position` is where a reader was at the last visit; with a `language`, news without a text in it is left out. It throws
    /// a `DatabaseError`, and ``HubProtocol/ProtocolError`` 404 for a hub that is gone.
    package func news(
        of tags: [Tag],
        language: LanguageName?,
        in name: HubName,
        since position: StreamPosition?
    ) async throws -> HubNews {
        let hub = try directory.hub(named: name.text)
        let (head, dropped) = (hub.status.head, hub.status.droppedThrough)
        let tellings = try await hub.publicFeeds.news(of: tags, language: language, in: hub)
        var gap: String?
        if let position {
            switch directory.epochs.resume(position.text, created: .start, top: head, droppedThrough: dropped) {
            case .resume: break
            case .gap(_, let reason, _), .strangeCursor(_, let reason, _): gap = reason
            }
        }
        return HubNews(
            tellings: tellings.filter { $0.sequence <= head },
            position: StreamPosition(epoch: directory.epochs.current, sequence: head),
            gap: gap
        )
    }

    /// The languages of a hub's categories, as publishers have reported them in the last days, by the folded category.
    ///
    /// It throws a `DatabaseError`, and ``HubProtocol/ProtocolError`` 404 for a hub that is gone.
    package func languages(in name: HubName) async throws -> [String: [LanguageName]] {
        let hub = try directory.hub(named: name.text)
        return try await hub.publicFeeds.languages(of: hub)
    }
}
