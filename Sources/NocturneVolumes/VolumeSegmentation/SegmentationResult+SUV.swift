import NocturneFormats

extension SegmentationResult {
    /// How values of a PET image became standardized uptake values.
    struct SUV: Codable {
        let kind: String
        /// From the values of the image to g/ml.
        let factor: Double
        /// Units (0054,1001) of the image.
        let storedUnits: String
        /// Of the radionuclide; absent where the factor does not depend on it.
        let halfLifeSeconds: Double?

        init(_ factor: SUVFactor) {
            kind = "body weight"
            self.factor = factor.value
            storedUnits = factor.units
            halfLifeSeconds = factor.halfLife
        }
    }
}
