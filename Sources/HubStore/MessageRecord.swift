import Formats
import Foundation
import GRDB
package import HubProtocol
package import HubRouting

/// A stored message.
///
/// Its parts are decoded where they are needed, so that a damaged message does not affect others.
package struct MessageRecord: Sendable, Equatable {
    let messageID: String
    /// The tag expression as it was sent, `nil` for a broadcast and for a direct send.
    package let tags: String?
    package let body: [UInt8]
    /// `nil` for a template message.
    let formatName: String?
    /// A JSON object; `nil` if there are none.
    let headersText: String?
    /// JSON; `nil` if the message is for all matching registrations.
    let targetsText: String?

    package init(
        id: MessageID,
        tags: String?,
        body: [UInt8],
        format: MessageFormat = .template,
        headers: ForwardedHeaders = .none,
        targets: MessageTargets? = nil
    ) throws {
        messageID = id.text
        self.tags = tags
        self.body = body
        formatName = format == .template ? nil : format.rawValue
        headersText = headers.isEmpty ? nil : try JSONEncoder.plain.text(headers.values)
        targetsText = try targets.map { try JSONEncoder.plain.text($0) }
    }

    package var id: MessageID {
        get throws { try MessageID(messageID) }
    }

    package var format: MessageFormat { formatName.map { MessageFormat(rawValue: $0) } ?? .template }

    package var headers: ForwardedHeaders {
        get throws {
            guard let headersText else { return .none }
            return ForwardedHeaders(
                values: try JSONReader.decode([String: String].self, from: headersText, limits: .stored)
            )
        }
    }

    package var targets: MessageTargets? {
        get throws {
            try targetsText.map { try JSONReader.decode(MessageTargets.self, from: $0, limits: .stored) }
        }
    }
}

/// The targets of a direct or a test send.
package struct MessageTargets: Sendable, Equatable, Codable {
    /// Handles of push platforms, in the sender's order.
    package var handles: [PushChannel] = []
    /// Installations of platform `stream`.
    package var installations: [InstallationID] = []
    /// Registrations of push platforms that a test send has chosen.
    package var registrations: [RegistrationID] = []
    /// Number of handles of platform `stream` without an installation.
    package var unknown = 0
    /// Number of handles of a canceled message, which are not stored.
    package var forgotten = 0
    /// True for a direct send, which may also be a test send.
    package var isDirect = false
    package var isTest = false

    package init() {}

    private enum CodingKeys: String, CodingKey {
        case handles, installations, registrations, unknown, forgotten, isDirect, isTest
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        handles = try container.decodeIfPresent([PushChannel].self, forKey: .handles) ?? []
        installations = try container.decodeIfPresent([InstallationID].self, forKey: .installations) ?? []
        registrations = try container.decodeIfPresent([RegistrationID].self, forKey: .registrations) ?? []
        unknown = try container.decodeIfPresent(Int.self, forKey: .unknown) ?? 0
        forgotten = try container.decodeIfPresent(Int.self, forKey: .forgotten) ?? 0
        isDirect = try container.decodeIfPresent(Bool.self, forKey: .isDirect) ?? false
        isTest = try container.decodeIfPresent(Bool.self, forKey: .isTest) ?? false
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        if !handles.isEmpty { try container.encode(handles, forKey: .handles) }
        if !installations.isEmpty { try container.encode(installations, forKey: .installations) }
        if !registrations.isEmpty { try container.encode(registrations, forKey: .registrations) }
        if unknown > 0 { try container.encode(unknown, forKey: .unknown) }
        if forgotten > 0 { try container.encode(forgotten, forKey: .forgotten) }
        if isDirect { try container.encode(isDirect, forKey: .isDirect) }
        if isTest { try container.encode(isTest, forKey: .isTest) }
    }
}

extension MessageTargets {
    /// Number of handles of a direct send, known or unknown.
    package var handleCount: Int { handles.count + installations.count + unknown + forgotten }

    /// The part of a canceled message's targets that is stored.
    var canceled: MessageTargets {
        var rest = MessageTargets()
        (rest.isDirect, rest.isTest, rest.forgotten) = (isDirect, isTest, handleCount)
        return rest
    }
}

/// A message of the log.
package struct LoggedMessage: Sendable, Equatable {
    package let sequence: LogSequence
    package let record: MessageRecord

    package init(sequence: LogSequence, record: MessageRecord) {
        self.sequence = sequence
        self.record = record
    }

    package var tags: String? { record.tags }
    package var body: [UInt8] { record.body }

    package var id: MessageID {
        get throws { try record.id }
    }
}

/// A scheduled message that is waiting or was canceled.
package struct ScheduledMessage: Sendable, Equatable {
    package let record: MessageRecord
    package let dueAt: Timestamp
    package let scheduledAt: Timestamp
    /// `nil` while it waits.
    package let canceledAt: Timestamp?
}

extension MessageRecord {
    /// The message as it was sent.
    package var message: Message {
        get throws {
            let handles = try targets.map(\.handles) ?? []
            let audience: MessageAudience
            if !handles.isEmpty {
                audience = .handles(handles)
            } else if let tags {
                audience = .matching(try TagExpression(parsing: tags, limits: .stored))
            } else {
                audience = .everybody
            }
            return try Message(format: format, audience: audience, headers: headers, body: body)
        }
    }
}

extension LoggedMessage {
    /// The message for routing; it was valid when the log accepted it.
    package var routed: RoutedMessage {
        get throws {
            RoutedMessage(
                sequence: sequence,
                id: try id,
                try record.message,
                installations: try record.targets?.installations
            )
        }
    }
}

// MARK: - Rows

extension MessageRecord {
    /// Columns of `log` and of `scheduledMessage`, the first ones of every statement that reads messages.
    static let columns = "messageID, tags, body, format, headers, targets"

    init(row: Row, from column: Int) {
        messageID = row[column]
        tags = row[column + 1]
        let bytes: Data = row[column + 2]
        body = [UInt8](bytes)
        formatName = row[column + 3]
        headersText = row[column + 4]
        targetsText = row[column + 5]
    }

    var values: Columns {
        [
            "messageID": messageID, "tags": tags, "body": Data(body), "format": formatName,
            "headers": headersText, "targets": targetsText,
        ]
    }

    /// The size in bytes of a row of `log` or of `scheduledMessage`; the length of a text would count characters.
    static let rowBytes = """
        ifnull(length(body), 0) + ifnull(length(CAST(tags AS BLOB)), 0) + ifnull(length(CAST(headers AS BLOB)), 0)
            + ifnull(length(CAST(targets AS BLOB)), 0)
        """

    /// Approximate size in the file.
    package var bytes: Int {
        body.count + (tags?.utf8.count ?? 0) + (headersText?.utf8.count ?? 0) + (targetsText?.utf8.count ?? 0)
    }
}

extension LoggedMessage {
    /// Reads a row of the sequence and ``MessageRecord/columns``.
    init(row: Row) {
        sequence = row[0]
        record = MessageRecord(row: row, from: 1)
    }
}

extension ScheduledMessage {
    /// Reads a row of ``MessageRecord/columns`` and three instants.
    init(row: Row) {
        record = MessageRecord(row: row, from: 0)
        dueAt = row["dueAt"]
        scheduledAt = row["scheduledAt"]
        canceledAt = row["canceledAt"]
    }
}
