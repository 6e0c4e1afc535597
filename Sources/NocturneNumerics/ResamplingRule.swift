internal import NocturneCore

extension ResamplingRule {
    /// Degree of the interpolating spline.
    public enum Order: Int, Hashable, Sendable, Codable {
        case nearest = 0
        case linear = 1
        case cubic = 3
    }
}

/// How an image, logits or labels are resampled to another number of voxels: nnU-Net's resampling settings.
public struct ResamplingRule: Hashable, Sendable {
    /// The resampling function of nnU-Net, or another one.
    public enum Method: String, Hashable, Sendable, Codable, CaseIterable {
        /// `resample_data_or_seg_to_shape`: splines in float64.
        case spline
        /// `resample_torch_fornnunet`: in float32, linear, or "nearest-exact" with order 0.
        case torch
        /// `no_resampling_hack`: every grid keeps its shape.
        case none
        /// SciPy's `ndimage.zoom` in float64, order 0 or 1, as TotalSegmentator uses it: the centres of the first and of the last
        /// voxels coincide.
        case zoom
        /// MONAI's `Spacing` and its inverse, of order 0 or 1: ``alignment`` has the positions of the voxels, and beyond the volume its
        /// border continues.
        case monai
    }

    /// Whether slices with a large distance are resampled one by one: nnU-Net's `force_separate_z`.
    public enum Separation: String, Hashable, Sendable, Codable, CaseIterable {
        /// When one spacing is more than ``ResamplingRule/anisotropyThreshold`` times another.
        case auto
        case always
        case never
    }

    /// The implementation whose results are reproduced.
    public var method: Method
    /// The degree in all three axes, or within the slices where these are kept separate. For `torch`, 0 or linear.
    public var order: Order
    /// The degree along the separate axis, if there is one: nnU-Net's `order_z`. `torch` uses the nearest slice.
    public var orderZ: Order
    /// Whether slices are kept apart.
    public var separateZ: Separation
    /// The ratio of spacings above which a grid counts as anisotropic: 3 in nnU-Net.
    public var anisotropyThreshold: Double
    /// Where the voxels of the new grid lie in the old one; with `monai` only.
    public var alignment: GridAlignment?

    /// The defaults are those of nnU-Net's plans.
    public init(
        method: Method = .spline,
        order: Order,
        orderZ: Order = .nearest,
        separateZ: Separation = .auto,
        anisotropyThreshold: Double = 3,
        alignment: GridAlignment? = nil
    ) {
        self.method = method
        self.order = order
        self.orderZ = orderZ
        self.separateZ = separateZ
        self.anisotropyThreshold = anisotropyThreshold
        self.alignment = alignment
    }

    /// The default of nnU-Net's plans for images.
    public static let image = ResamplingRule(order: .cubic)
    /// The default of nnU-Net's plans for logits and labels.
    public static let logits = ResamplingRule(order: .linear)

    /// The axis along which slices are kept separate; nil for interpolation along all three axes.
    ///
    /// This is the axis of the largest spacing of the current grid, or of the new grid if only that one is anisotropic.
    /// nil when several axes share the maximum. Both spacings are in mm and in the same axis order; the result refers
    /// to that order.
    public func separateAxis(current: SIMD3<Double>, new: SIMD3<Double>) -> Int? {
        func isAnisotropic(_ spacing: SIMD3<Double>) -> Bool { spacing.max() / spacing.min() > anisotropyThreshold }
        let deciding: SIMD3<Double>
        switch separateZ {
        case .never: return nil
        case .always: deciding = current
        case .auto:
            if isAnisotropic(current) {
                deciding = current
            } else if isAnisotropic(new) {
                deciding = new
            } else {
                return nil
            }
        }
        let widest = (0..<3).filter { deciding[$0] == deciding.max() }
        return widest.count == 1 ? widest[0] : nil
    }

    /// Whether values keep their places on the same number of voxels.
    func changesNothing(from source: VolumeShape, to target: VolumeShape) -> Bool {
        source == target && alignment?.isIdentity ?? true
    }

    /// Checks that all resampling by this rule shares.
    func check(from source: VolumeShape, to target: VolumeShape, separateAxis: Int?) throws(NumericsError) {
        guard VolumeShape(validating: target.x, y: target.y, z: target.z) != nil else {
            throw .shape("nothing can be resampled to \(target)")
        }
        guard separateAxis.map((0..<3).contains) ?? true else {
            throw .value("a volume has no axis \(separateAxis ?? 0)")
        }
        guard method != .zoom && method != .monai || order != .cubic && separateAxis == nil else {
            throw .value("the method \(method.rawValue) has orders 0 and 1 only, along all axes")
        }
        guard (method == .monai) == (alignment != nil) else {
            throw .value("the method monai, and no other, needs to know where voxels lie")
        }
        guard method != .none || source == target else {
            throw .shape("\(source) differs from \(target), but the rule does not resample")
        }
    }

    /// The same for values that are resampled with orders 0 and 1 only.
    /// - Parameter values: what they are, for the error: "logits".
    func checkIsNotCubic(
        _ values: String,
        from source: VolumeShape,
        to target: VolumeShape,
        separateAxis: Int?
    ) throws(NumericsError) {
        try check(from: source, to: target, separateAxis: separateAxis)
        let isCubic = order == .cubic || separateAxis != nil && orderZ == .cubic
        guard method != .spline || !isCubic || changesNothing(from: source, to: target) else {
            throw .value("\(values) cannot be resampled with order 3, only with 0 or 1")
        }
    }
}
