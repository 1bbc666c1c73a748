import GRDB
import HubRouting
import SQLiteFiles

/// Completes the effects of an entry from the database before and after the entry's statements.
///
/// If an entry changes an installation or a registration several times, its effect is the state after the last change.
package struct EffectReader {
    let transaction: Transaction
    private let logged: [LoggedEffect]
    /// The targets that the next effect replaces.
    private var former: [Ordinal: Target]
    private var written: [Ordinal: Target] = [:]

    /// Reads the targets that the entry's statements will replace.
    init(before logged: [LoggedEffect], _ transaction: Transaction) throws {
        self.logged = logged
        self.transaction = transaction
        former = try transaction.targets(logged.flatMap(\.targets))
    }

    var db: Database { transaction.db }

    /// Completes the effects from the rows that the entry's statements have written.
    mutating func effects() throws -> [NamespaceEffect] {
        written = try transaction.targets(logged.flatMap(\.targets))
        return try logged.compactMap { try $0.complete(&self) }
    }

    mutating func changes(of ordinals: [Ordinal]) -> [TargetChange] {
        ordinals.compactMap { ordinal in
            let (old, new) = (former[ordinal], written[ordinal])
            former[ordinal] = new
            return old == nil && new == nil ? nil : TargetChange(old: old, new: new)
        }
    }
}

extension Transaction {
    fileprivate func targets(_ ordinals: [Ordinal]) throws -> [Ordinal: Target] {
        guard !ordinals.isEmpty else { return [:] }
        let targets = try db.rows(RegistrationQuery.targets, [ordinals.json], Target.init(row:))
        return Dictionary(uniqueKeysWithValues: targets.map { ($0.ordinal, $0) })
    }
}
