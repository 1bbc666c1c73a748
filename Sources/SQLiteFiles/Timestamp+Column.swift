package import GRDB
package import HubProtocol

/// Whole milliseconds since 1970 in an `INTEGER` column.
extension Timestamp: DatabaseValueConvertible {
    package var databaseValue: DatabaseValue { milliseconds.databaseValue }

    package static func fromDatabaseValue(_ value: DatabaseValue) -> Timestamp? {
        Int64.fromDatabaseValue(value).map { Timestamp(milliseconds: $0) }
    }
}
