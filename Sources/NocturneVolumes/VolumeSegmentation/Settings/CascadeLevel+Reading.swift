import NocturneCore
import NocturneInference
import NocturneNumerics
import NocturneSystem

/// The keys of one level; axes are in the order z, y, x. A missing key has the default of the page on packages.
extension CascadeLevel {
    static let keys = [
        "orientation", "orientAfterSpacing", "transpose", "spacing", "size", "patchSize", "tileStep", "tiling",
        "mirroringAxes", "cropToNonzero", "cropAbove", "cropAfterNormalization", "marginMm", "marginVoxels",
        "marginShare", "padMargin", "normalizeAfterResampling", "logitBlur", "resampling", "networks",
    ]

    /// - Parameters:
    ///   - normalizations: of each channel.
    ///   - oneHot: labels of the level before; nil where there is none.
    init(
        _ fields: JSONFields,
        of package: ModelPackage,
        _ normalizations: [[Normalization]],
        oneHot: [UInt16]? = nil
    ) throws(JSONFields.Fault) {
        let transpose = fields.has("transpose") ? try fields.wholes("transpose") : [0, 1, 2]
        guard transpose.sorted() == [0, 1, 2] else {
            throw fields.fault("transpose", is: transpose, not: "0, 1 and 2 in some order")
        }
        let (patchSize, isPlanar) = try fields.patchSize()
        let after = try fields.boolean("normalizeAfterResampling", false)
        // The mask is one of stored voxels, and does not exist on the resampled grid.
        if after, normalizations.joined().contains(where: \.needsMask) {
            throw fields.fault("normalizeAfterResampling", "is true, and a normalisation has a mask")
        }
        let resampling = try fields.objectOrEmpty("resampling")
        try resampling.only(["image", "logits", "labels"])
        let image = try ResamplingRule(resampling.objectOrEmpty("image"), order: .cubic)
        let logits = try ResamplingRule(resampling.objectOrEmpty("logits"), order: .linear, hasValues: true)
        // Half a cascade is one, too.
        let isCascade = oneHot != nil || fields.has("oneHotLabels")
        try resampling.checkMONAI(image, logits, isCascade: isCascade)
        let orientsAfterSpacing = try fields.boolean("orientAfterSpacing", false)
        guard !orientsAfterSpacing || image.method == .monai else {
            throw fields.fault("orientAfterSpacing", "is true, which only resampling by monai may have")
        }
        self.init(
            orientation: try fields.choice("orientation", .stored),
            orientsAfterSpacing: orientsAfterSpacing,
            transpose: transpose,
            spacing: try fields.spacing(isPlanar: isPlanar),
            size: try fields.gridSize([image, logits], isPlanar: isPlanar),
            patchSize: patchSize,
            isPlanar: isPlanar,
            tileStep: try fields.tileStep(),
            tiling: try TilingSettings(fields.objectOrEmpty("tiling")),
            mirroringAxes: try fields.mirroringAxes(isPlanar: isPlanar),
            crop: try fields.crop(),
            imageResampling: image,
            logitsResampling: logits,
            labelsResampling: try ResamplingRule(resampling.objectOrEmpty("labels"), order: .linear),
            logitBlur: try fields.logitBlur(isPlanar: isPlanar),
            normalizesAfterResampling: after,
            resamplesProbabilities: try resampling.objectOrEmpty("logits").hasProbabilities(),
            normalizations: normalizations,
            oneHotLabels: oneHot ?? [],
            networks: try fields.networks(of: package)
        )
    }
}

extension JSONFields {
    /// The patch with three axes, and whether the section gives two of them.
    fileprivate func patchSize() throws(Fault) -> (size: [Int], isPlanar: Bool) {
        let size = try wholes("patchSize")
        let limit = size.count == 2 ? 8192 : 1024
        guard (2...3).contains(size.count), size.allSatisfy({ (1...limit).contains($0) }) else {
            throw fault("patchSize", is: size, not: "three numbers in 1...1024, or two in 1...8192")
        }
        return size.count == 2 ? ([1] + size, true) : (size, false)
    }

    fileprivate func spacing(isPlanar: Bool) throws(Fault) -> [Double?]? {
        guard has("spacing") else { return nil }
        let spacing = try numbers("spacing")
        let axes = isPlanar ? 2 : 3
        guard spacing.count == axes, spacing.allSatisfy({ $0 > 0 && $0 <= 1000 }) else {
            throw fault("spacing", is: spacing, not: "\(axes) numbers above 0 and up to 1000, or null")
        }
        return isPlanar ? [nil] + spacing : spacing
    }

    fileprivate func tileStep() throws(Fault) -> Double {
        // Half a patch, as nnU-Net does by default; above 1 voxels between tiles would be seen by no network.
        let step = try number("tileStep", 0.5, in: Self.allNumbers)
        guard step > 0, step <= 1 else { throw fault("tileStep", is: step, not: "above 0 and at most 1") }
        return step
    }

    fileprivate func mirroringAxes(isPlanar: Bool) throws(Fault) -> [Int] {
        let axes = has("mirroringAxes") ? try wholes("mirroringAxes") : []
        let dimensions = isPlanar ? 2 : 3
        guard Set(axes).count == axes.count, axes.allSatisfy({ (0..<dimensions).contains($0) }) else {
            throw fault("mirroringAxes", is: axes, not: isPlanar ? "0, 1, or both" : "some of 0, 1 and 2, each once")
        }
        return axes.map { isPlanar ? $0 + 1 : $0 }.sorted()
    }

    /// The grid of a fixed size, instead of a spacing.
    fileprivate func gridSize(_ rules: [ResamplingRule], isPlanar: Bool) throws(Fault) -> GridSize? {
        guard has("size") else { return nil }
        let size = try wholes("size")
        let axes = isPlanar ? 2 : 3
        guard size.count == axes || size.count == 1, size.allSatisfy({ (1...8192).contains($0) }) else {
            throw fault("size", is: size, not: "\(axes) numbers in 1...8192, or one for the longest")
        }
        if has("spacing") { throw fault("size", "is given, and so is spacing") }
        for rule in rules where ![.spline, .torch].contains(rule.method) {
            throw fault("size", "is given, and resampling is \(rule.method.rawValue), not spline or torch")
        }
        // One number is for the longest of the axes that are resampled: all three, or the two of a slice.
        if size.count == 1 { return .longest(size[0], of: 3 - axes..<3) }
        return .axes((isPlanar ? [nil] : []) + size)
    }

    fileprivate func crop() throws(Fault) -> CropSettings? {
        let margin = try margin()
        let after = try boolean("cropAfterNormalization", false)
        let pads = try boolean("padMargin", false)
        if pads, !after { throw fault("padMargin", "is true, and cropAfterNormalization is not") }
        let isToNonzero = try boolean("cropToNonzero", false)
        if has("cropAbove") {
            if isToNonzero { throw fault("cropAbove", "is given, and so is cropToNonzero") }
            let above = try float("cropAbove")
            return CropSettings(above: above, margin: margin, isOfNormalizedImage: after, padsMargin: pads)
        }
        if isToNonzero {
            return CropSettings(above: nil, margin: margin, isOfNormalizedImage: after, padsMargin: pads)
        }
        // Both keys change a crop: without one they would be ignored, and the author's mistake not be noticed.
        guard margin == .none, !after else {
            let other = after ? "cropAfterNormalization" : "a margin"
            throw fault("cropToNonzero", "is not true and cropAbove is not given, so \(other) has no effect")
        }
        return nil
    }

    /// Of a member whose limits are not among the numbers that it may be.
    static let allNumbers = -Double.greatestFiniteMagnitude...Double.greatestFiniteMagnitude

    /// The keys `marginMm`, `marginVoxels` and `marginShare`.
    func margin() throws(Fault) -> Margin {
        Margin(
            millimetres: try number("marginMm", 0, in: 0...1000),
            voxels: try whole("marginVoxels", 0, in: 0...1000),
            share: try number("marginShare", 0, in: 0...10)
        )
    }

    /// The filter of the logits; three axes, of which slices have two.
    fileprivate func logitBlur(isPlanar: Bool) throws(Fault) -> [Double]? {
        guard has("logitBlur") else { return nil }
        let blur = try numbers(value("logitBlur"), "logitBlur", count: isPlanar ? 2 : 3, in: 0...100)
        return isPlanar ? [0] + blur : blur
    }

    fileprivate func networks(of package: ModelPackage) throws(Fault) -> [String] {
        let networks = try strings("networks", atMost: Self.maximumListCount)
        if networks.isEmpty { throw fault("networks", "is an empty list") }
        for (index, network) in networks.enumerated() {
            guard package.files.contains(where: { $0.path == network }) else {
                throw fault("networks[\(index)]", is: network, not: "a path listed in files")
            }
            if networks[..<index].contains(network) {
                throw fault("networks[\(index)]", "is \"\(network)\", which another entry is too")
            }
        }
        return networks
    }

    /// Image and logits share one grid, and MONAI's knows no labels of a previous level.
    fileprivate func checkMONAI(
        _ image: ResamplingRule,
        _ logits: ResamplingRule,
        isCascade: Bool
    ) throws(Fault) {
        guard image.method == .monai || logits.method == .monai else { return }
        guard image.method == logits.method else {
            throw fault("logits.method", is: logits.method.rawValue, not: "\(image.method.rawValue), as for the image")
        }
        for (name, rule) in [("image", image), ("logits", logits)] where rule.order == .cubic {
            throw fault("\(name).order", is: rule.order.rawValue, not: "0 or 1, as monai requires")
        }
        if isCascade { throw fault("image.method", "is monai, which a cascade must not have") }
    }

    /// Whether `values` asks for probabilities.
    fileprivate func hasProbabilities() throws(Fault) -> Bool {
        let values = has("values") ? try string("values") : "logits"
        guard ["logits", "probabilities"].contains(values) else {
            throw fault("values", is: values, not: "logits or probabilities")
        }
        return values == "probabilities"
    }

    /// The degree of a resampling.
    func order(_ key: String, _ standard: ResamplingRule.Order) throws(Fault) -> ResamplingRule.Order {
        guard has(key) else { return standard }
        let number = try whole(key, in: 0...3)
        guard let order = ResamplingRule.Order(rawValue: number) else { throw fault(key, is: number, not: "0, 1 or 3") }
        return order
    }
}

extension ResamplingRule {
    /// The defaults are those of nnU-Net's planner.
    /// - Parameters:
    ///   - order: the default; 3 for the image, which alone may have it.
    ///   - hasValues: whether the key `values` is allowed.
    fileprivate init(_ fields: JSONFields, order: Order, hasValues: Bool = false) throws(JSONFields.Fault) {
        let keys = ["method", "order", "orderZ", "separateZ", "anisotropyThreshold"]
        try fields.only(keys + (hasValues ? ["values"] : []))
        let method = try fields.choice("method", Method.spline, among: [.spline, .torch, .monai, .none])
        let separate = try fields.choice("separateZ", Separation.auto)
        // `orderZ` is that of a separate axis.
        let keysInUse = separate == .never ? ["order"] : ["order", "orderZ"]
        for key in keysInUse where order != .cubic && method == .spline {
            guard try fields.order(key, .nearest) == .cubic else { continue }
            throw fields.fault(key, is: 3, not: "0 or 1: only the image is resampled with order 3")
        }
        self.init(
            method: method,
            order: try fields.order("order", order),
            orderZ: try fields.order("orderZ", .nearest),
            // MONAI resamples all axes together.
            separateZ: method == .monai ? .never : separate,
            anisotropyThreshold: try fields.number("anisotropyThreshold", 3, in: 1...Double.greatestFiniteMagnitude)
        )
    }
}

extension TilingSettings {
    /// The settings by which packages of MONAI's models differ from nnU-Net's.
    fileprivate init(_ fields: JSONFields) throws(JSONFields.Fault) {
        try fields.only(["positions", "weights", "padding"])
        self.init(
            rule: TilingRule(
                positions: try fields.choice("positions", .even),
                padding: try fields.choice("padding", .zero)
            ),
            weights: try fields.choice("weights", .gaussian)
        )
    }
}
