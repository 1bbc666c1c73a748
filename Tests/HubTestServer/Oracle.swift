import Foundation

/// A script of `.ci/oracles`, in which libraries that others wrote judge what we write.
package struct Oracle: Sendable {
    package struct Verdict: Sendable {
        package let status: Int32
        package let output: String
    }

    /// The Python that has the libraries; `nil` where `make oracles` has not installed them.
    package static let python = ProcessInfo.processInfo.environment["NEWSWIRE_ORACLES"]
        .flatMap { $0.isEmpty ? nil : $0 }

    private let script: URL

    package init(_ script: String) {
        self.script = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: ".ci/oracles/\(script)")
    }

    /// Runs the script to its end with `question` as its input.
    package func judge(_ question: String) async throws -> Verdict {
        let folder = try ScratchFolder()
        let (input, output) = (folder.file("input"), folder.file("output"))
        try Data(question.utf8).write(to: URL(fileURLWithPath: input))
        _ = FileManager.default.createFile(atPath: output, contents: nil)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Self.python ?? "python3")
        process.arguments = [script.path]
        process.standardInput = try FileHandle(forReadingFrom: URL(fileURLWithPath: input))
        let end = try FileHandle(forWritingTo: URL(fileURLWithPath: output))
        process.standardOutput = end
        process.standardError = end
        let (ended, continuation) = AsyncStream<Void>.makeStream()
        process.terminationHandler = { _ in continuation.finish() }
        try process.run()
        for await _ in ended {}
        return Verdict(
            status: process.terminationStatus,
            output: (try? String(contentsOfFile: output, encoding: .utf8)) ?? ""
        )
    }
}
