import GRDB
package import HubProtocol
package import HubRouting

/// The columns of one `SELECT`, in order.
///
/// Hot loops read columns by position: reading by name searches each row.
protocol ColumnPlaces: RawRepresentable where RawValue == Int {}

extension Row {
    subscript<Value: DatabaseValueConvertible & StatementColumnConvertible>(_ place: some ColumnPlaces) -> Value {
        self[place.rawValue]
    }
}

extension HubKey: DatabaseValueConvertible, StatementColumnConvertible {}
extension Ordinal: DatabaseValueConvertible, StatementColumnConvertible {}
extension LogSequence: DatabaseValueConvertible, StatementColumnConvertible {}
/// Queries compare case: bind ``Platform/folded`` where the column is in lower case.
extension Platform: DatabaseValueConvertible, StatementColumnConvertible {}

extension Epoch {
    init(row: Row) { self.init(name: row["name"], firstSequence: row["firstSequence"]) }
}
