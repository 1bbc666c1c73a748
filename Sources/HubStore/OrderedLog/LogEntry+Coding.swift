import Foundation
import GRDB

/// The encoding in which entries are sent and stored.
///
/// `NWLE`, the format's number, schema, id, previous id, node, the texts of the statements, the statements with their
/// values, the effects. Numbers are variable-length. A text that several statements share is encoded once.
extension LogEntry {
    /// The number of this format; this program refuses other numbers.
    static let format = 1
    private static let magic = Array("NWLE".utf8)

    package var encoded: [UInt8] {
        var writer = EntryWriter()
        writer.append(raw: Self.magic)
        writer.append(number: UInt64(Self.format))
        writer.append(number: UInt64(schema))
        writer.append(raw: id.bytes)
        writer.append(raw: previous.bytes)
        writer.append(text: node)
        writer.append(statements: statements)
        writer.append(list: effects) { $0.append(raw: $1.bytes) }
        return writer.bytes
    }

    /// - Throws: ``LogEntryError``.
    package init(encoded: [UInt8]) throws(LogEntryError) {
        guard encoded.starts(with: Self.magic) else { throw .notAnEntry }
        var reader = EntryReader(encoded)
        _ = try reader.raw(Self.magic.count)
        let format = try reader.number()
        guard format == Self.format else { throw .newerFormat(Int(clamping: format)) }
        let schema = Int(clamping: try reader.number())
        let (id, previous) = (try Self.id(&reader), try Self.id(&reader))
        let node = try reader.text()
        let statements = try reader.statements()
        let effects = try reader.list { reader throws(LogEntryError) in try LoggedEffect(reading: &reader) }
        guard reader.isAtEnd else { throw .damaged("extra bytes follow it") }
        self.init(
            id: id,
            previous: previous,
            schema: schema,
            node: node,
            statements: statements,
            effects: effects
        )
    }

    private static func id(_ reader: inout EntryReader) throws(LogEntryError) -> EntryID {
        guard let id = EntryID(try reader.raw(EntryID.count)) else { throw .damaged("it ends early") }
        return id
    }
}

private enum ValueTag {
    static let null: UInt8 = 0
    static let integer: UInt8 = 1
    static let real: UInt8 = 2
    static let text: UInt8 = 3
    static let blob: UInt8 = 4
}

extension EntryWriter {
    /// Appends the texts of statements, and then the statements with their values.
    mutating func append(statements: [RecordedStatement]) {
        var places: [String: Int] = [:]
        var texts: [String] = []
        for statement in statements where places[statement.sql] == nil {
            places[statement.sql] = texts.count
            texts.append(statement.sql)
        }
        append(list: texts) { $0.append(text: $1) }
        append(list: statements) { writer, statement in
            writer.append(number: UInt64(places[statement.sql] ?? 0))
            writer.append(number: UInt64(statement.changes))
            writer.append(list: statement.values) { $0.append($1) }
        }
    }

    private mutating func append(_ value: DatabaseValue) {
        switch value.storage {
        case .null: append(ValueTag.null)
        case .int64(let number):
            append(ValueTag.integer)
            append(signed: number)
        case .double(let number):
            append(ValueTag.real)
            append(number: number.bitPattern)
        case .string(let text):
            append(ValueTag.text)
            append(text: text)
        case .blob(let data):
            append(ValueTag.blob)
            append(counted: data)
        }
    }
}

extension EntryReader {
    mutating func statements() throws(LogEntryError) -> [RecordedStatement] {
        let texts = try list { reader throws(LogEntryError) in try reader.text() }
        return try list { reader throws(LogEntryError) in
            let place = Int(clamping: try reader.number())
            guard texts.indices.contains(place) else { throw .damaged("a statement has no text") }
            let changes = Int(clamping: try reader.number())
            let values = try reader.list { reader throws(LogEntryError) in try reader.databaseValue() }
            return RecordedStatement(sql: texts[place], values: values, changes: changes)
        }
    }

    private mutating func databaseValue() throws(LogEntryError) -> DatabaseValue {
        switch try byte() {
        case ValueTag.null: .null
        case ValueTag.integer: try signed().databaseValue
        case ValueTag.real: Double(bitPattern: try number()).databaseValue
        case ValueTag.text: try text().databaseValue
        case ValueTag.blob: Data(try counted()).databaseValue
        default: throw .damaged("a value has an unknown type")
        }
    }
}
