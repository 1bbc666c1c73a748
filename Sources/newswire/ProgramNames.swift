import ArgumentParser
import HostSystem

/// Names of programs among the arguments of a command.
enum ProgramNames {
    /// Returns the programs with these names.
    ///
    /// A command calls it when it runs, and has texts as arguments: the parser would take the value of an unknown option
    /// for a wrong name, and complain of that instead of the option.
    ///
    /// - Throws: `ValidationError` for a name that is not a program's.
    static func programs<Program: CaseIterable & RawRepresentable<String>>(
        _ names: [String]
    ) throws(ValidationError) -> [Program] {
        try names.map { (name) throws(ValidationError) -> Program in
            if let program = Program(rawValue: name) { return program }
            let known = Program.allCases.map { "'\($0.rawValue)'" }
            let list = "\(known.dropLast().joined(separator: ", ")) or \(known.last ?? "")"
            throw ValidationError("'\(TerminalText.safe(name))' is not one of the programs \(list)")
        }
    }
}
