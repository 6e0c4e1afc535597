/// Which series become volumes although they are not volumes as stored.
public struct DICOMSeriesRules: Sendable, Hashable {
    /// Whether tilted or uneven stacks become volumes by resampling (``DICOMSeries/correction``).
    public var correctsStacks: Bool
    /// Whether images computed from others, such as maps and reformatted planes, become volumes.
    public var includesDerived: Bool

    public init(correctsStacks: Bool = false, includesDerived: Bool = false) {
        self.correctsStacks = correctsStacks
        self.includesDerived = includesDerived
    }
}
