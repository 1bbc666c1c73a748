import Foundation
import HubProtocol

/// A cache of tags and records: the registrations of one message often differ only in the channel.
///
/// Not shared between threads.
final class RegistrationTexts {
    /// Maximum number of texts of each kind; a full cache is emptied.
    private static let maximum = 256
    /// The beginning of every record (``RegistrationRecord/encoded``).
    private static let opening = Array(#"{"channel":""#.utf8)

    private var tags: [String: [Tag]] = [:]
    /// By the part of the text after the channel.
    private var records: [[UInt8]: RegistrationRecord] = [:]

    /// Reads the tags of a row.
    static func tags(_ text: String) throws -> [Tag] { try text.split(separator: ",").map { try Tag(String($0)) } }

    func tags(_ text: String) throws -> [Tag] {
        if let known = tags[text] { return known }
        let read = try Self.tags(text)
        if tags.count >= Self.maximum { tags = [:] }
        tags[text] = read
        return read
    }

    func record(_ json: Data) throws -> RegistrationRecord {
        guard let (channel, rest) = json.withUnsafeBytes(Self.split) else { return try RegistrationRecord(json) }
        if var known = records[rest] {
            known.channel = .handle(channel)
            return known
        }
        let record = try RegistrationRecord(json)
        if records.count >= Self.maximum { records = [:] }
        records[rest] = record
        return record
    }

    /// Splits a record after the channel; `nil` if it does not begin with a channel of plain ASCII.
    private static func split(_ json: UnsafeRawBufferPointer) -> (channel: String, rest: [UInt8])? {
        guard json.starts(with: opening) else { return nil }
        let text = json[opening.count...]
        guard let end = text.firstIndex(where: { !(0x20...0x7E).contains($0) || $0 == 0x22 || $0 == 0x5C }),
            text[end] == 0x22
        else { return nil }
        return (String(decoding: text[..<end], as: UTF8.self), Array(text[end...]))
    }
}
