import Formats
import WebTokens

extension SignedToken {
    /// Seconds since 1970 of a claim; `nil` unless it is a whole number.
    func time(_ claim: String) -> Int64? { claims[claim]?.integer }

    /// Text of a claim that is not empty.
    func text(_ claim: String) -> String? { claims[claim]?.string.flatMap { $0.isEmpty ? nil : $0 } }
}
