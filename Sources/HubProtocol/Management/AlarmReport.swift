import Formats
import FoundationEssentials

/// An alarm as operators see it: one element of the answer to our own route `GET /{hub}/alarms`.
///
/// Instants are ISO 8601 in UTC.
package struct AlarmReport: Sendable, Equatable, Codable {
    /// The id for silencing it; the same whenever this alarm is raised.
    package let id: String
    /// The kind of fault, such as `silentCategory`.
    package let kind: String
    /// The name of the category, feed or other object; empty for the hub as a whole.
    package let subject: String
    /// One line, for people.
    package let title: String
    /// The condition, and the advice for the operator.
    package let text: String
    /// The time at which the condition began; absent for an alarm that has ended and is still silenced.
    package var since: String?
    /// The time at which the subject expires.
    package var deadline: String?
    /// The publisher that reported the condition.
    package var publisher: String?
    /// True if no notices are sent about it.
    package var isSilenced = false
    /// The end of the silence; absent for a silence that ends with the alarm.
    package var silencedUntil: String?

    package init(id: String, kind: String, subject: String, title: String, text: String) {
        (self.id, self.kind, self.subject) = (id, kind, subject)
        (self.title, self.text) = (title, text)
    }

    /// True if it has not ended.
    package var isRaised: Bool { since != nil }
}

/// The answer of `GET /{hub}/alarms`: active and silenced alarms.
package struct AlarmList: Sendable, Equatable, Codable {
    /// Maximum number of alarms in an answer; those that are not silenced come first.
    package static let maximum = 500

    package let alarms: [AlarmReport]
    /// Number of alarms that the answer has no room for.
    package var omitted: Int?
    /// The tag that alarms are sent to; absent if they are not.
    package var tag: String?

    package init(alarms: [AlarmReport]) { self.alarms = alarms }
}

/// The duration of an alarm's silence: the body of our own route `PUT /{hub}/alarms/{id}/silence`.
package struct AlarmSilence: Sendable, Equatable, Codable {
    /// Maximum size of the body in bytes.
    package static let maximumBytes = 1_024
    /// The longest silence that has an end.
    package static let longest = Duration.seconds(365 * 86_400)

    /// ISO 8601; absent for a silence that ends with the alarm.
    package let until: String?

    package init(until: String?) { self.until = until }

    /// Reads and checks a body; with an empty one, the silence ends with the alarm.
    ///
    /// - Throws: ``ProtocolError`` 400 with the problem.
    package static func end(json: [UInt8], now: Timestamp) throws(ProtocolError) -> Timestamp? {
        guard !json.isEmpty else { return nil }
        let silence: AlarmSilence
        do {
            silence = try JSONReader.decode(AlarmSilence.self, from: json)
        } catch {
            throw .badRequest(#"The body must be empty or a JSON object such as {"until": "2030-01-02T06:00:00Z"}."#)
        }
        guard let until = silence.until else { return nil }
        guard let end = ISODateTime.parse(until).map({ Timestamp($0) }) else {
            throw .badRequest("'\(until.excerpt)' is not a time in ISO 8601.")
        }
        guard end > now, end - now <= longest else {
            throw .badRequest("'\(until.excerpt)' is not within the next 365 days.")
        }
        return end
    }
}
