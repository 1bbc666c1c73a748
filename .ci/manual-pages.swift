// Writes the manual pages of a program, one for each of its commands, from what it says of itself.
//
//   program --experimental-dump-help | manual-pages DIRECTORY VERSION DATE
//
// The generate-manual plugin of swift-argument-parser runs the lines of a discussion together, examples and all.

import Foundation

struct Help: Decodable {
    struct Command: Decodable {
        let commandName: String
        let superCommands: [String]?
        let shouldDisplay: Bool
        let abstract: String?
        let discussion: String?
        let defaultSubcommand: String?
        let subcommands: [Command]?
        let arguments: [Argument]?

        var path: [String] { (superCommands ?? []) + [commandName] }
        var page: String { path.joined(separator: "-") }
        var shown: [Command] { (subcommands ?? []).filter { $0.shouldDisplay && $0.commandName != "help" } }
    }

    struct Argument: Decodable {
        struct Name: Decodable {
            let kind: String
            let name: String

            var text: String { kind == "long" ? "--\(name)" : "-\(name)" }
        }

        let kind: String
        let shouldDisplay: Bool
        let isOptional: Bool
        let isRepeating: Bool
        let names: [Name]?
        let preferredName: Name?
        let valueName: String?
        let defaultValue: String?
        let allValueStrings: [String]?
        let abstract: String?
        let discussion: String?

        /// The option with its value, in roff.
        func marked(_ name: Name?) -> String {
            let value = "\\fI\(roff(valueName ?? "value"))\\fR"
            guard kind != "positional", let name else { return value }
            return kind == "flag" ? "\\fB\(roff(name.text))\\fR" : "\\fB\(roff(name.text))\\fR \(value)"
        }
    }

    let command: Command
}

/// Text that roff takes as it stands.
func roff(_ text: String) -> String {
    let escaped = text.replacing("\\", with: "\\e").replacing("-", with: "\\-")
    return escaped.hasPrefix(".") || escaped.hasPrefix("'") ? "\\&\(escaped)" : escaped
}

/// A discussion: paragraphs, headings in capitals, and indented lines as they stand.
func body(_ discussion: String) -> [String] {
    var lines: [String] = []
    var isLiteral = false
    var isBlank = true
    for line in discussion.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
        let wantsLiteral = line.hasPrefix("  ") || (isLiteral && line.isEmpty)
        if wantsLiteral != isLiteral {
            if wantsLiteral, lines.last?.hasPrefix(".SH") == false { lines.append(".PP") }
            lines += wantsLiteral ? [".nf", ".RS 4"] : [".RE", ".fi"]
            isLiteral = wantsLiteral
        }
        if line.isEmpty {
            isBlank = true
        } else if !isLiteral, line.allSatisfy({ $0.isUppercase || $0 == " " }) {
            lines.append(".SH \(roff(line))")
            isBlank = false
        } else {
            if isBlank, !isLiteral, lines.last?.hasPrefix(".SH") == false { lines.append(".PP") }
            lines.append(roff(isLiteral ? String(line.dropFirst(2)) : line))
            isBlank = false
        }
    }
    if isLiteral { lines += [".RE", ".fi"] }
    return lines
}

func option(_ argument: Help.Argument) -> [String] {
    let long = argument.names?.filter { $0.kind == "long" } ?? []
    let names = (argument.names ?? []).filter { $0.kind != "long" } + long
    let heads = names.isEmpty ? [argument.marked(nil)] : names.map { argument.marked($0) }
    var lines = [".TP", heads.joined(separator: ", ")]
    lines.append(roff(argument.abstract ?? ""))
    if let values = argument.allValueStrings, !values.isEmpty {
        lines.append(roff("One of: \(values.joined(separator: ", "))."))
    }
    if let value = argument.defaultValue { lines.append(roff("Default: \(value).")) }
    if let discussion = argument.discussion { lines += [".br", roff(discussion)] }
    return lines
}

/// Kept in step with docs/troubleshooting.md.
let exitCodes = [
    ("0", "Done."), ("1", "Failed."), ("64", "A wrong flag, value or category: change the command."),
    ("69", "The hub cannot be reached."), ("75", "Try again later; nothing is lost."),
    ("78", "The configuration is wrong: feed lists, connection string, key, address."),
]

func page(_ command: Help.Command, root: Help.Command, version: String, date: String) -> String {
    let name = command.path.joined(separator: " ")
    let arguments = (command.arguments ?? []).filter(\.shouldDisplay)
    var lines = [
        ".TH \(roff(command.page.uppercased())) 1 \(date) \"\(roff("\(root.commandName) \(version)"))\"", ".SH NAME",
        roff("\(command.page) - \(command.abstract ?? "")"), ".SH SYNOPSIS", ".nh", ".TP",
        "\\fB\(roff(name))\\fR",
    ]
    for argument in arguments {
        let text = argument.marked(argument.preferredName) + (argument.isRepeating ? " ..." : "")
        lines.append(argument.isOptional ? "[\(text)]" : text)
    }
    if !command.shown.isEmpty { lines.append("\\fIcommand\\fR ...") }
    lines.append(".hy")
    let discussion = body(command.discussion ?? "")
    lines.append(".SH DESCRIPTION")
    let firstHeading = discussion.firstIndex { $0.hasPrefix(".SH") } ?? discussion.endIndex
    if firstHeading == 0 { lines.append(roff(command.abstract ?? "")) }
    lines += discussion[..<firstHeading]
    if !command.shown.isEmpty {
        lines.append(".SH COMMANDS")
        for child in command.shown {
            let note = child.commandName == command.defaultSubcommand ? " (default)" : ""
            lines += [".TP", "\\fB\(roff(child.page))\\fR(1)\(note)", roff(child.abstract ?? "")]
        }
    }
    if !arguments.isEmpty { lines += [".SH OPTIONS"] + arguments.flatMap(option) }
    lines += discussion[firstHeading...]
    lines.append(".SH EXIT STATUS")
    for (code, meaning) in exitCodes { lines += [".TP", "\\fB\(code)\\fR", roff(meaning)] }
    let parent = command.superCommands.map { $0.joined(separator: "-") }
    let others = ([parent].compactMap { $0 } + command.shown.map(\.page)).map { "\\fB\(roff($0))\\fR(1)" }
    if !others.isEmpty { lines += [".SH SEE ALSO", others.joined(separator: ", ")] }
    return lines.joined(separator: "\n") + "\n"
}

func write(_ command: Help.Command, root: Help.Command, to directory: String, version: String, date: String) throws {
    let file = "\(directory)/\(command.page).1"
    try page(command, root: root, version: version, date: date).write(toFile: file, atomically: true, encoding: .utf8)
    for child in command.shown { try write(child, root: root, to: directory, version: version, date: date) }
}

guard CommandLine.arguments.count == 4 else {
    FileHandle.standardError.write(Data("usage: manual-pages DIRECTORY VERSION DATE < help.json\n".utf8))
    exit(64)
}
let help = try JSONDecoder().decode(Help.self, from: FileHandle.standardInput.readDataToEndOfFile())
let (directory, version, date) = (CommandLine.arguments[1], CommandLine.arguments[2], CommandLine.arguments[3])
try write(help.command, root: help.command, to: directory, version: version, date: date)
