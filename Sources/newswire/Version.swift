internal import CCommit

/// The version of the program; the only place that states it.
enum Version {
    static let number = "0.2.0"

    /// The version and the commit, such as `0.2.0 (6909b04c1d2e)`.
    ///
    /// The commit is `unknown` in a build without `make` or without git.
    static let text = "\(number) (\(String(cString: newswire_commit())))"
}
