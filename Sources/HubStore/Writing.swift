import GRDB

/// Values by the names of their columns.
typealias Columns = [String: (any DatabaseValueConvertible)?]

/// Recorded statements that write one row or some columns.
extension Transaction {
    func insert(into table: String, _ columns: Columns) throws {
        let columns = columns.sorted { $0.key < $1.key }
        let names = columns.map(\.key).joined(separator: ", ")
        let places = columns.map { _ in "?" }.joined(separator: ", ")
        try execute("INSERT INTO \(table) (\(names)) VALUES (\(places))", columns.map(\.value))
    }

    /// Changes the rows whose `keys` have the given values; no value of a key is `nil`.
    func update(_ table: String, _ columns: Columns, where keys: Columns) throws {
        let (columns, keys) = (columns.sorted { $0.key < $1.key }, keys.sorted { $0.key < $1.key })
        let changes = columns.map { "\($0.key) = ?" }.joined(separator: ", ")
        let condition = keys.map { "\($0.key) = ?" }.joined(separator: " AND ")
        try execute("UPDATE \(table) SET \(changes) WHERE \(condition)", (columns + keys).map(\.value))
    }
}
