import GRDB

/// The names of columns with their values.
typealias Columns = KeyValuePairs<String, (any DatabaseValueConvertible)?>

/// Recorded statements that write one row or some columns.
extension Transaction {
    func insert(into table: String, _ columns: Columns...) throws {
        let columns = columns.flatMap(\.self)
        let names = columns.map(\.key).joined(separator: ", ")
        let places = columns.map { _ in "?" }.joined(separator: ", ")
        try execute("INSERT INTO \(table) (\(names)) VALUES (\(places))", columns.map(\.value))
    }

    /// Changes the rows in which `key` has a value.
    func update(_ table: String, _ columns: Columns, where key: String, is value: any DatabaseValueConvertible) throws {
        let changes = columns.map { "\($0.key) = ?" }.joined(separator: ", ")
        try execute("UPDATE \(table) SET \(changes) WHERE \(key) = ?", columns.map(\.value) + [value])
    }
}
