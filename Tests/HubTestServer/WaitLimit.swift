import Testing

/// The limit of every wait of a test.
///
/// What is waited for may not come: its program has not started, or ended. A test that waits for it must fail, not hang.
package enum WaitLimit {
    /// Far more than anything takes on a busy machine.
    package static let duration = Duration.seconds(300)

    /// Records that a wait has ended without what was waited for, unless its task was cancelled meanwhile.
    ///
    /// `file` and `line` are the place of the wait. A `SourceLocation` would need an import of Testing wherever a test waits.
    package static func ranOut(_ expected: String, _ file: String, _ line: Int) {
        guard !Task.isCancelled else { return }
        Issue.record("no \(expected) within \(duration), waited for at \(file):\(line)")
    }
}
