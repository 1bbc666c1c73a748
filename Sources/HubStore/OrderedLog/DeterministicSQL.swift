/// The rule for statements that write: on equal databases, the same statement with the same values writes the same rows.
///
/// Another node repeats recorded statements, so nothing in them may depend on chance, a clock, the node, or the order
/// in which SQLite happens to visit rows.
enum DeterministicSQL {
    /// Tables that each node writes for itself.
    ///
    /// Recorded statements must not name them.
    static let nodeLocalTables: Set = ["clock", "figure", "generation", "logPlace", "streamProgress", "streamTime"]

    /// Functions whose results differ from call to call, or from node to node.
    ///
    /// `sealed` and `opened` depend on the node's key and on a random nonce. Aggregates that join values depend on the
    /// order of rows.
    private static let functions: Set = [
        "changes", "date", "datetime", "group_concat", "json_group_array", "json_group_object", "julianday",
        "last_insert_rowid", "opened", "random", "randomblob", "sealed", "sqlite_source_id", "sqlite_version",
        "strftime",
        "time", "total_changes", "unixepoch",
    ]
    private static let clocks: Set = ["current_date", "current_time", "current_timestamp"]

    /// Returns why a statement is not deterministic; `nil` if it is.
    static func fault(in sql: String) -> String? {
        let tokens = tokens(of: sql)
        for (index, token) in tokens.enumerated() {
            guard case .word(let word) = token else { continue }
            let isCall = index + 1 < tokens.count && tokens[index + 1] == .open
            if isCall, functions.contains(word) { return "it calls \(word)()" }
            if clocks.contains(word) { return "it names \(word)" }
            if let table = nodeLocalTables.first(where: { $0.lowercased() == word }) {
                return "it names '\(table)', which each node writes for itself"
            }
        }
        if tokens.contains(.text("now")) { return "it reads the clock by 'now'" }
        return unorderedRows(tokens)
    }

    /// Finds a `LIMIT`, or an `INSERT … SELECT … FROM`, whose rows come in no stated order.
    private static func unorderedRows(_ tokens: [Token]) -> String? {
        struct Level {
            var isOrdered = false
            var isInsert = false
            var reads = false
        }
        var levels = [Level()]
        func fault(_ level: Level) -> String? {
            level.isInsert && level.reads && !level.isOrdered ? "it inserts rows in no stated order" : nil
        }
        for (index, token) in tokens.enumerated() {
            let last = levels.count - 1
            switch token {
            case .open: levels.append(Level())
            case .close:
                if let fault = fault(levels[last]) { return fault }
                if last > 0 { levels.removeLast() }
            case .word("insert"), .word("replace"): if index == 0 { levels[last].isInsert = true }
            case .word("select"):
                levels[last].isOrdered = false
                levels[last].reads = false
            case .word("from"): levels[last].reads = true
            case .word("order"): levels[last].isOrdered = true
            case .word("limit"): if !levels[last].isOrdered { return "it limits rows in no stated order" }
            case .word, .text: break
            }
        }
        return levels.compactMap(fault).first
    }

    // MARK: - Tokens

    /// The parts of a statement that the rule looks at; numbers and operators are left out.
    private enum Token: Equatable {
        /// A keyword or a name, in lower case.
        case word(String)
        case text(String)
        case open
        case close
    }

    private static func tokens(of sql: String) -> [Token] {
        var tokens: [Token] = []
        var rest = sql[...]
        while let character = rest.first {
            switch character {
            case "(":
                tokens.append(.open)
                rest.removeFirst()
            case ")":
                tokens.append(.close)
                rest.removeFirst()
            case "'":
                let text = rest.dropFirst().prefix { $0 != "'" }
                tokens.append(.text(text.lowercased()))
                rest = rest[text.endIndex...].dropFirst()
            case _ where character.isLetter || character == "_":
                let word = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
                tokens.append(.word(word.lowercased()))
                rest = rest[word.endIndex...]
            default: rest.removeFirst()
            }
        }
        return tokens
    }
}
