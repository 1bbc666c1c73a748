import AppBackend
import ArgumentParser
import Foundation
import HostSystem

/// Options for the source of a user's password.
///
/// It is never an argument, which other users of the machine can see.
struct PasswordOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The file that contains the password; '-' is standard input (default: ask on the terminal).",
            valueName: "path"
        ),
        completion: .file()
    )
    var passwordFile: String?

    /// Maximum bytes of a password with its line break.
    private static let maximumBytes = Password.maximumBytes + 2

    /// Returns the password in the file; `nil` if no file is named.
    ///
    /// Must be called before root takes on the rights of the hub's user, since only root may be able to read the file.
    func read() throws -> Password? {
        guard let path = passwordFile else { return nil }
        return try Self.password(try Self.text(of: path), Self.name(of: path))
    }

    /// Returns the text of a file, without a final line break; `-` is standard input.
    static func text(of path: String) throws -> String {
        var text = path == "-" ? try standardInput() : try PrivateFile.read(path, limit: maximumBytes)
        if text.last?.isNewline ?? false { text.removeLast() }
        return text
    }

    static func name(of path: String) -> String { path == "-" ? "standard input" : "'\(path)'" }

    /// Asks for the password twice on the terminal.
    static func ask(for name: UserName) throws -> Password {
        let first = try line("New password for \(name): ")
        let password = try password(first, "the input")
        guard try line("Again: ") == first else {
            throw Failure(.failed, "the two passwords differ", hint: "nothing was changed: run the command again")
        }
        return password
    }

    static func line(_ prompt: String) throws -> String {
        let typed: String?
        do {
            typed = try HiddenInput.line(prompt: prompt, limit: maximumBytes)
        } catch {
            throw Failure(.usage, "\(error)", hint: "pass --password-file PATH, or '-' for standard input")
        }
        guard let typed else { throw Failure(.failed, "no password was given; nothing was changed") }
        return typed
    }

    private static func password(_ text: String, _ source: String) throws -> Password {
        do {
            return try Password(new: text)
        } catch {
            throw Failure(.usage, "\(source) is not a valid password: \(error)")
        }
    }

    private static func standardInput() throws -> String {
        let data = try FileHandle.standardInput.read(upToCount: maximumBytes + 1) ?? Data()
        guard data.count <= maximumBytes else {
            throw Failure(.usage, "standard input is not a valid password: \(PasswordProblem.tooLong)")
        }
        guard let text = String(validating: data, as: UTF8.self) else {
            throw Failure(.usage, "standard input is not a valid password: not UTF-8 text")
        }
        return text
    }
}
