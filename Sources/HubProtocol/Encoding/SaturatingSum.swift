extension Sequence where Element: FixedWidthInteger {
    /// The sum, or the largest or smallest value if the sum is outside the type's range.
    ///
    /// For counts that another program reported or stored: a wrong count is shown, and does not end this one.
    package func saturatingSum() -> Element { reduce(0) { $0.saturatingAdd($1) } }
}

extension FixedWidthInteger {
    /// The sum, or the largest or smallest value if the sum is outside the type's range.
    package func saturatingAdd(_ other: Self) -> Self {
        let (sum, isOutside) = addingReportingOverflow(other)
        return isOutside ? (other < 0 ? .min : .max) : sum
    }

    /// The difference, or the largest or smallest value if the difference is outside the type's range.
    package func saturatingSubtract(_ other: Self) -> Self {
        let (difference, isOutside) = subtractingReportingOverflow(other)
        return isOutside ? (other < 0 ? .max : .min) : difference
    }

    /// The product, or the largest or smallest value if the product is outside the type's range.
    package func saturatingMultiply(by other: Self) -> Self {
        let (product, isOutside) = multipliedReportingOverflow(by: other)
        return isOutside ? ((self < 0) == (other < 0) ? .max : .min) : product
    }
}
