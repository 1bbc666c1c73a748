import Alarms
import Crypto
import Formats
import Foundation
import HubProtocol

/// The state of a hub's alarms, as stored in its database.
struct AlarmRecord: Sendable, Codable {
    var judge = AlarmJudge()
    /// Messages up to this sequence have been scanned; `nil` before the first look.
    var scanned: LogSequence?
    /// The start and term of the node that watches, after which another one begins anew; `nil` if it is not known.
    var watcher: String?

    init() {}

    init(text: String) throws { self = try JSONReader.decode(Self.self, from: text, limits: .stored) }

    var text: String {
        get throws { try JSONEncoder.sorted.text(self) }
    }

    /// The alarm with an id, among active and silenced alarms.
    func alarm(_ id: String, at now: Timestamp) -> Alarm? {
        judge.entries(at: now).lazy.map(\.alarm).first { $0.id == id }
    }

    /// The list that operators see: alarms that need attention come first.
    func list(at now: Timestamp) -> AlarmList {
        let entries = judge.entries(at: now)
        let sorted = entries.filter { !$0.isSilenced } + entries.filter(\.isSilenced)
        var list = AlarmList(alarms: sorted.prefix(AlarmList.maximum).map { AlarmReport($0) })
        if sorted.count > AlarmList.maximum { list.omitted = sorted.count - AlarmList.maximum }
        return list
    }

    /// Number of active alarms by kind, and of silenced ones among them.
    func counts(at now: Timestamp) -> (kinds: [Alarm.Kind: Int], silenced: Int) {
        let alarms = judge.alarms
        return (
            alarms.reduce(into: [:]) { $0[$1.kind, default: 0] += 1 },
            alarms.count { judge.isSilenced($0, at: now) }
        )
    }
}

extension Alarm {
    /// Number of hexadecimal digits in an id.
    private static let digits = 12

    /// An id that is short enough to type, and the same in all hubs and after each start.
    var id: String {
        let digest = SHA256.hash(data: Data("\(kind.rawValue)\u{0}\(subject)".utf8))
        return Hexadecimal.encode(digest.prefix(Self.digits / 2))
    }
}

extension AlarmReport {
    fileprivate init(_ entry: AlarmJudge.Entry) {
        let (alarm, finding) = (entry.alarm, entry.finding)
        let description = AlarmDescription(alarm, finding, id: alarm.id)
        self.init(
            id: alarm.id,
            kind: alarm.kind.rawValue,
            subject: alarm.subject,
            title: description.title,
            text: description.text
        )
        since = finding?.since.wholeSecond
        deadline = finding?.deadline?.wholeSecond
        publisher = finding?.publisher
        isSilenced = entry.isSilenced
        silencedUntil = entry.silencedUntil?.wholeSecond
    }
}
