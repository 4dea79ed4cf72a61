
%struct.launch_config = type { [3 x i32], [3 x i32], i64, ptr, ptr, i64 }
%struct.facts = type { [3 x i32], i32, i64, ptr, ptr, ptr, ptr }
%struct.call = type { ptr, ptr, i32, ptr, ptr, ptr, %struct.learnt }
%struct.learnt = type { ptr, i32, i32, i32, ptr, ptr }
%struct.subscript_entry = type { [5 x i64], ptr, ptr, i64 }
%struct.tensor = type { i64, i32, i32, i32, i32, ptr, ptr, i64 }
%struct.dim_row = type { i64, i64, i64, i32, i32 }
%struct.rule = type { i32, i32, i64 }
%struct.array_row = type { i16, i16, i32, ptr }
%struct.constant_row = type { i16, i16, i32 }
%struct.type_entry = type { ptr, i64, ptr, ptr }
%struct.map_entry = type { i64, [5 x i64], [5 x i64], i64, [4 x i64], [16 x i64] }

; Function Attrs: nounwind
define ptr @launch(ptr noundef %0, ptr noundef %1, i64 noundef %2, ptr noundef %3) local_unnamed_addr #0 {
  %5 = alloca %struct.launch_config, align 8
  %6 = alloca i64, align 8
  %7 = alloca [5 x ptr], align 16
  %8 = alloca %struct.facts, align 8
  %9 = alloca %struct.call, align 8
  %10 = tail call i64 @object_head() #20
  %11 = getelementptr inbounds i8, ptr %0, i64 %10
  %12 = getelementptr inbounds i8, ptr %11, i64 -8
  %13 = load ptr, ptr %12, align 8
  %14 = getelementptr i8, ptr %13, i64 %10
  %15 = getelementptr i8, ptr %14, i64 16
  %16 = load i64, ptr %15, align 8
  %17 = getelementptr inbounds i8, ptr %0, i64 %16
  %18 = load ptr, ptr %17, align 8
  %19 = getelementptr i8, ptr %18, i64 %10
  %20 = getelementptr i8, ptr %19, i64 48
  %21 = load ptr, ptr %20, align 8
  %22 = getelementptr i8, ptr %19, i64 56
  %23 = load ptr, ptr %22, align 8
  %24 = getelementptr i8, ptr %19, i64 64
  %25 = load ptr, ptr %24, align 8
  %26 = getelementptr i8, ptr %19, i64 28
  %27 = load i32, ptr %26, align 4
  %28 = and i32 %27, 32
  %29 = icmp eq i32 %28, 0
  br i1 %29, label %42, label %30, !prof !4

30:                                               ; preds = %4
  %31 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %32 = load ptr, ptr %1, align 8
  %33 = add nsw i64 %2, -1
  %34 = getelementptr inbounds i8, ptr %32, i64 %10
  %35 = getelementptr inbounds i8, ptr %34, i64 -8
  %36 = load ptr, ptr %35, align 8
  %37 = getelementptr i8, ptr %36, i64 %10
  %38 = getelementptr i8, ptr %37, i64 16
  %39 = load i64, ptr %38, align 8
  %40 = getelementptr inbounds i8, ptr %32, i64 %39
  %41 = load ptr, ptr %40, align 8
  br label %42

42:                                               ; preds = %30, %4
  %43 = phi ptr [ %41, %30 ], [ %18, %4 ]
  %44 = phi ptr [ %32, %30 ], [ %0, %4 ]
  %45 = phi i64 [ %33, %30 ], [ %2, %4 ]
  %46 = phi ptr [ %31, %30 ], [ %1, %4 ]
  %47 = getelementptr i8, ptr %43, i64 %10
  %48 = getelementptr i8, ptr %47, i64 16
  %49 = getelementptr inbounds nuw i8, ptr %25, i64 128
  %50 = load i32, ptr %49, align 8
  %51 = zext i32 %50 to i64
  %52 = alloca i8, i64 %51, align 64
  %53 = getelementptr inbounds nuw i8, ptr %25, i64 112
  %54 = load i32, ptr %53, align 8
  %55 = zext i32 %54 to i64
  %56 = getelementptr inbounds nuw i8, ptr %52, i64 %55
  call void @llvm.lifetime.start.p0(ptr nonnull %9) #21
  store ptr %25, ptr %9, align 8
  %57 = getelementptr inbounds nuw i8, ptr %9, i64 8
  store ptr %52, ptr %57, align 8
  %58 = getelementptr inbounds nuw i8, ptr %9, i64 16
  store i32 0, ptr %58, align 8
  %59 = getelementptr inbounds nuw i8, ptr %9, i64 20
  store i32 0, ptr %59, align 4
  %60 = getelementptr inbounds nuw i8, ptr %9, i64 24
  store ptr %23, ptr %60, align 8
  %61 = getelementptr inbounds nuw i8, ptr %9, i64 32
  store ptr %21, ptr %61, align 8
  %62 = getelementptr inbounds nuw i8, ptr %9, i64 40
  store ptr %46, ptr %62, align 8
  %63 = getelementptr inbounds nuw i8, ptr %9, i64 48
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(40) %63, i8 0, i64 40, i1 false)
  %64 = load ptr, ptr %23, align 8
  %65 = load i64, ptr %64, align 8
  %66 = icmp eq i64 %65, 0
  br i1 %66, label %67, label %563, !prof !4

67:                                               ; preds = %42
  %68 = getelementptr i8, ptr %47, i64 28
  %69 = load i32, ptr %68, align 4
  %70 = and i32 %69, 13
  %71 = icmp eq i32 %70, 0
  br i1 %71, label %95, label %72, !prof !4

72:                                               ; preds = %67
  %73 = and i32 %69, 4
  %74 = icmp eq i32 %73, 0
  br i1 %74, label %85, label %75

75:                                               ; preds = %72
  %76 = getelementptr inbounds nuw i8, ptr %21, i64 72
  %77 = load ptr, ptr %76, align 8
  %78 = call fastcc ptr @forward(ptr noundef nonnull %23, ptr noundef %77, ptr noundef null, ptr noundef nonnull %44, ptr noundef %46, i64 noundef %45, ptr noundef %3) #22
  %79 = icmp eq ptr %78, null
  br i1 %79, label %80, label %82

80:                                               ; preds = %75
  %81 = call fastcc i32 @failed(ptr noundef nonnull %23) #22
  br label %563

82:                                               ; preds = %75
  %83 = getelementptr i8, ptr %78, i64 %10
  %84 = getelementptr i8, ptr %83, i64 16
  br label %85

85:                                               ; preds = %82, %72
  %86 = phi ptr [ %84, %82 ], [ %48, %72 ]
  %87 = phi ptr [ %78, %82 ], [ null, %72 ]
  %88 = getelementptr inbounds nuw i8, ptr %86, i64 12
  %89 = load i32, ptr %88, align 4
  %90 = and i32 %89, 9
  %91 = icmp eq i32 %90, 0
  br i1 %91, label %95, label %92

92:                                               ; preds = %85
  %93 = lshr i32 %89, 3
  %94 = and i32 %93, 1
  br label %563

95:                                               ; preds = %85, %67
  %96 = phi ptr [ %86, %85 ], [ %48, %67 ]
  %97 = phi ptr [ %87, %85 ], [ null, %67 ]
  %98 = getelementptr inbounds nuw i8, ptr %25, i64 4
  %99 = load i32, ptr %98, align 4
  %100 = zext i32 %99 to i64
  %101 = icmp ne i64 %45, %100
  %102 = icmp ne ptr %3, null
  %103 = or i1 %102, %101
  br i1 %103, label %104, label %107, !prof !5

104:                                              ; preds = %95
  store ptr %56, ptr %62, align 8
  %105 = call fastcc i32 @bind(ptr noundef %21, ptr noundef nonnull %23, ptr noundef %46, i64 noundef %45, ptr noundef %3, ptr noundef %56) #22
  %106 = icmp eq i32 %105, 0
  br i1 %106, label %155, label %563

107:                                              ; preds = %95
  %108 = getelementptr inbounds nuw i8, ptr %25, i64 20
  %109 = load i32, ptr %108, align 4
  %110 = icmp eq i32 %109, 0
  br i1 %110, label %155, label %111, !prof !4

111:                                              ; preds = %107
  store ptr %56, ptr %62, align 8
  %112 = load i32, ptr %25, align 8
  %113 = icmp eq i32 %112, 0
  br i1 %113, label %155, label %114

114:                                              ; preds = %111
  %115 = zext i32 %112 to i64
  %116 = and i64 %115, 3
  %117 = icmp ult i32 %112, 4
  br i1 %117, label %143, label %118

118:                                              ; preds = %114
  %119 = and i64 %115, 4294967292
  br label %120

120:                                              ; preds = %120, %118
  %121 = phi i64 [ 0, %118 ], [ %138, %120 ]
  %122 = phi i64 [ 0, %118 ], [ %139, %120 ]
  %123 = getelementptr inbounds nuw ptr, ptr %46, i64 %121
  %124 = load ptr, ptr %123, align 8
  %125 = getelementptr inbounds nuw ptr, ptr %56, i64 %121
  store ptr %124, ptr %125, align 8
  %126 = or disjoint i64 %121, 1
  %127 = getelementptr inbounds nuw ptr, ptr %46, i64 %126
  %128 = load ptr, ptr %127, align 8
  %129 = getelementptr inbounds nuw ptr, ptr %56, i64 %126
  store ptr %128, ptr %129, align 8
  %130 = or disjoint i64 %121, 2
  %131 = getelementptr inbounds nuw ptr, ptr %46, i64 %130
  %132 = load ptr, ptr %131, align 8
  %133 = getelementptr inbounds nuw ptr, ptr %56, i64 %130
  store ptr %132, ptr %133, align 8
  %134 = or disjoint i64 %121, 3
  %135 = getelementptr inbounds nuw ptr, ptr %46, i64 %134
  %136 = load ptr, ptr %135, align 8
  %137 = getelementptr inbounds nuw ptr, ptr %56, i64 %134
  store ptr %136, ptr %137, align 8
  %138 = add nuw nsw i64 %121, 4
  %139 = add i64 %122, 4
  %140 = icmp eq i64 %139, %119
  br i1 %140, label %141, label %120, !llvm.loop !6

141:                                              ; preds = %120
  %142 = icmp eq i64 %116, 0
  br i1 %142, label %155, label %143

143:                                              ; preds = %141, %114
  %144 = phi i64 [ 0, %114 ], [ %138, %141 ]
  %145 = icmp ne i64 %116, 0
  call void @llvm.assume(i1 %145)
  br label %146

146:                                              ; preds = %146, %143
  %147 = phi i64 [ %144, %143 ], [ %152, %146 ]
  %148 = phi i64 [ 0, %143 ], [ %153, %146 ]
  %149 = getelementptr inbounds nuw ptr, ptr %46, i64 %147
  %150 = load ptr, ptr %149, align 8
  %151 = getelementptr inbounds nuw ptr, ptr %56, i64 %147
  store ptr %150, ptr %151, align 8
  %152 = add nuw nsw i64 %147, 1
  %153 = add i64 %148, 1
  %154 = icmp eq i64 %153, %116
  br i1 %154, label %155, label %146, !llvm.loop !8

155:                                              ; preds = %141, %146, %111, %107, %104
  %156 = tail call i32 @has_lock() #20
  %157 = icmp eq i32 %156, 0
  br i1 %157, label %158, label %165

158:                                              ; preds = %155
  %159 = getelementptr inbounds nuw i8, ptr %23, i64 376
  %160 = load ptr, ptr %159, align 8
  %161 = ptrtoint ptr %52 to i64
  %162 = lshr i64 %161, 16
  %163 = call fastcc ptr @place_of(ptr noundef %160, i64 noundef %162) #22
  %164 = icmp eq ptr %163, null
  br i1 %164, label %563, label %168, !prof !10

165:                                              ; preds = %155
  %166 = getelementptr inbounds nuw i8, ptr %21, i64 24
  %167 = load ptr, ptr %166, align 8
  br label %172

168:                                              ; preds = %158
  %169 = getelementptr inbounds nuw i8, ptr %21, i64 24
  %170 = load atomic i64, ptr %169 seq_cst, align 8
  %171 = inttoptr i64 %170 to ptr
  br label %172

172:                                              ; preds = %168, %165
  %173 = phi ptr [ null, %165 ], [ %163, %168 ]
  %174 = phi ptr [ %167, %165 ], [ %171, %168 ]
  %175 = getelementptr inbounds nuw i8, ptr %174, i64 32
  %176 = load i64, ptr %174, align 8
  %177 = icmp eq i64 %176, 0
  br i1 %177, label %192, label %179

178:                                              ; preds = %179
  br i1 %187, label %192, label %203, !prof !11

179:                                              ; preds = %172, %179
  %180 = phi ptr [ %189, %179 ], [ %175, %172 ]
  %181 = phi i64 [ %188, %179 ], [ 0, %172 ]
  %182 = load ptr, ptr %180, align 8
  %183 = getelementptr inbounds i8, ptr %182, i64 %10
  %184 = load ptr, ptr %183, align 8
  %185 = getelementptr inbounds nuw i8, ptr %180, i64 8
  %186 = load ptr, ptr %185, align 8
  %187 = icmp eq ptr %184, %186
  %188 = add nuw i64 %181, 1
  %189 = getelementptr inbounds nuw i8, ptr %180, i64 16
  %190 = icmp ult i64 %188, %176
  %191 = select i1 %190, i1 %187, i1 false
  br i1 %191, label %179, label %178, !llvm.loop !12

192:                                              ; preds = %172, %178
  %193 = phi ptr [ %189, %178 ], [ %175, %172 ]
  %194 = getelementptr inbounds nuw i8, ptr %23, i64 8
  %195 = load ptr, ptr %194, align 8
  %196 = load i64, ptr %195, align 8
  %197 = getelementptr inbounds nuw i8, ptr %174, i64 16
  %198 = load i64, ptr %197, align 8
  %199 = icmp eq i64 %196, %198
  br i1 %199, label %206, label %200

200:                                              ; preds = %192
  %201 = call fastcc i32 @are_globals_unchanged(ptr noundef nonnull %23, ptr noundef nonnull %174, ptr noundef nonnull %193, i64 noundef %196) #22
  %202 = icmp eq i32 %201, 0
  br i1 %202, label %203, label %206, !prof !13

203:                                              ; preds = %178, %200
  %204 = getelementptr inbounds nuw i8, ptr %23, i64 168
  %205 = load ptr, ptr %204, align 8
  call void %205() #23
  br label %563

206:                                              ; preds = %192, %200
  %207 = getelementptr inbounds nuw i8, ptr %25, i64 48
  %208 = load i32, ptr %207, align 8
  %209 = icmp eq i32 %208, 0
  br i1 %209, label %230, label %210, !prof !4

210:                                              ; preds = %206
  %211 = getelementptr inbounds nuw i8, ptr %25, i64 40
  %212 = load i32, ptr %211, align 8
  %213 = icmp eq i32 %212, 0
  br i1 %213, label %230, label %214

214:                                              ; preds = %210, %214
  %215 = phi i64 [ %226, %214 ], [ 0, %210 ]
  %216 = load ptr, ptr %57, align 8
  %217 = load ptr, ptr %9, align 8
  %218 = getelementptr inbounds nuw i8, ptr %217, i64 116
  %219 = load i32, ptr %218, align 4
  %220 = zext i32 %219 to i64
  %221 = getelementptr inbounds nuw i8, ptr %216, i64 %220
  %222 = shl nuw nsw i64 %215, 1
  %223 = and i64 %222, 4294967294
  %224 = getelementptr inbounds nuw i64, ptr %221, i64 %223
  %225 = getelementptr inbounds nuw i8, ptr %224, i64 8
  store i64 0, ptr %225, align 8
  %226 = add nuw nsw i64 %215, 1
  %227 = load i32, ptr %211, align 8
  %228 = zext i32 %227 to i64
  %229 = icmp samesign ult i64 %226, %228
  br i1 %229, label %214, label %230, !llvm.loop !14

230:                                              ; preds = %214, %210, %206
  %231 = getelementptr inbounds nuw i8, ptr %25, i64 20
  %232 = load i32, ptr %231, align 4
  %233 = icmp eq i32 %232, 0
  %234 = load ptr, ptr %9, align 8
  br i1 %233, label %245, label %235, !prof !4

235:                                              ; preds = %230
  %236 = load ptr, ptr %57, align 8
  %237 = getelementptr inbounds nuw i8, ptr %234, i64 124
  %238 = load i32, ptr %237, align 4
  %239 = zext i32 %238 to i64
  %240 = getelementptr inbounds nuw i8, ptr %236, i64 %239
  %241 = call fastcc i32 @fetch(ptr noundef nonnull %21, ptr noundef nonnull %23, ptr noundef %56, ptr noundef %240) #22
  %242 = icmp eq i32 %241, 0
  br i1 %242, label %243, label %563

243:                                              ; preds = %235
  %244 = load ptr, ptr %9, align 8
  br label %245

245:                                              ; preds = %243, %230
  %246 = phi ptr [ %244, %243 ], [ %234, %230 ]
  %247 = load ptr, ptr %60, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %8) #21
  %248 = call fastcc i32 @arrays(ptr noundef nonnull %9) #22
  %249 = icmp eq i32 %248, 0
  br i1 %249, label %250, label %554, !prof !4

250:                                              ; preds = %245
  %251 = getelementptr inbounds nuw i8, ptr %9, i64 60
  %252 = load i32, ptr %251, align 4
  %253 = icmp eq i32 %252, 0
  br i1 %253, label %257, label %254, !prof !4

254:                                              ; preds = %250
  %255 = call fastcc i32 @read_others(ptr noundef nonnull %9, ptr noundef %96) #22
  %256 = icmp eq i32 %255, 0
  br i1 %256, label %257, label %554

257:                                              ; preds = %254, %250
  %258 = getelementptr inbounds nuw i8, ptr %96, i64 12
  %259 = load i32, ptr %258, align 4
  %260 = and i32 %259, 2
  %261 = icmp eq i32 %260, 0
  br i1 %261, label %266, label %262

262:                                              ; preds = %257
  %263 = getelementptr inbounds nuw i8, ptr %96, i64 24
  %264 = load ptr, ptr %263, align 8
  %265 = getelementptr inbounds nuw i8, ptr %9, i64 80
  store ptr %264, ptr %265, align 8
  br label %281

266:                                              ; preds = %257
  %267 = getelementptr inbounds nuw i8, ptr %9, i64 64
  %268 = load i32, ptr %267, align 8
  %269 = icmp eq i32 %268, 0
  br i1 %269, label %270, label %281, !prof !4

270:                                              ; preds = %266
  %271 = load ptr, ptr %63, align 8
  %272 = icmp eq ptr %271, null
  br i1 %272, label %281, label %273, !prof !5

273:                                              ; preds = %270
  %274 = getelementptr inbounds nuw i8, ptr %9, i64 56
  %275 = load i32, ptr %274, align 8
  %276 = getelementptr inbounds nuw i8, ptr %9, i64 80
  %277 = call i32 %271(i32 noundef 2, i32 noundef %275, ptr noundef nonnull %276) #23
  %278 = icmp eq i32 %277, 0
  br i1 %278, label %281, label %279

279:                                              ; preds = %273
  %280 = call fastcc i32 @failed(ptr noundef %247) #22
  br label %554

281:                                              ; preds = %273, %270, %266, %262
  %282 = load ptr, ptr %57, align 8
  %283 = load ptr, ptr %9, align 8
  %284 = getelementptr inbounds nuw i8, ptr %283, i64 96
  %285 = load i32, ptr %284, align 8
  %286 = zext i32 %285 to i64
  %287 = getelementptr inbounds nuw i8, ptr %282, i64 %286
  %288 = getelementptr inbounds nuw i8, ptr %246, i64 56
  %289 = load i32, ptr %288, align 8
  %290 = icmp eq i32 %289, 0
  br i1 %290, label %340, label %291, !prof !4

291:                                              ; preds = %281
  %292 = getelementptr inbounds nuw i8, ptr %246, i64 24
  %293 = load i32, ptr %292, align 8
  %294 = icmp eq i32 %293, 0
  br i1 %294, label %297, label %295

295:                                              ; preds = %291
  %296 = getelementptr inbounds nuw i8, ptr %246, i64 28
  br label %300

297:                                              ; preds = %300, %291
  %298 = call fastcc i32 @constants(ptr noundef nonnull %9) #22
  %299 = icmp eq i32 %298, 0
  br i1 %299, label %327, label %554

300:                                              ; preds = %295, %300
  %301 = phi i64 [ 0, %295 ], [ %323, %300 ]
  %302 = load ptr, ptr %57, align 8
  %303 = load ptr, ptr %9, align 8
  %304 = getelementptr inbounds nuw i8, ptr %303, i64 124
  %305 = load i32, ptr %304, align 4
  %306 = zext i32 %305 to i64
  %307 = getelementptr inbounds nuw i8, ptr %302, i64 %306
  %308 = getelementptr inbounds nuw i8, ptr %307, i64 %301
  %309 = load i8, ptr %308, align 1
  %310 = getelementptr inbounds nuw i8, ptr %303, i64 96
  %311 = load i32, ptr %310, align 8
  %312 = zext i32 %311 to i64
  %313 = getelementptr inbounds nuw i8, ptr %302, i64 %312
  %314 = getelementptr inbounds nuw i8, ptr %303, i64 72
  %315 = load i32, ptr %314, align 8
  %316 = zext i32 %315 to i64
  %317 = getelementptr inbounds nuw i8, ptr %313, i64 %316
  %318 = load i32, ptr %296, align 4
  %319 = trunc nuw i64 %301 to i32
  %320 = add i32 %318, %319
  %321 = zext i32 %320 to i64
  %322 = getelementptr inbounds nuw i8, ptr %317, i64 %321
  store i8 %309, ptr %322, align 1
  %323 = add nuw nsw i64 %301, 1
  %324 = load i32, ptr %292, align 8
  %325 = zext i32 %324 to i64
  %326 = icmp samesign ult i64 %323, %325
  br i1 %326, label %300, label %297, !llvm.loop !15

327:                                              ; preds = %297
  %328 = getelementptr inbounds nuw i8, ptr %246, i64 48
  %329 = load i32, ptr %328, align 8
  %330 = icmp eq i32 %329, 0
  br i1 %330, label %334, label %331

331:                                              ; preds = %327
  %332 = call fastcc i32 @unsure_dims(ptr noundef nonnull %9) #22
  %333 = icmp eq i32 %332, 0
  br i1 %333, label %334, label %554

334:                                              ; preds = %331, %327
  %335 = load i32, ptr %58, align 8
  %336 = icmp eq i32 %335, 0
  br i1 %336, label %340, label %337

337:                                              ; preds = %334
  %338 = call fastcc i32 @agree(ptr noundef nonnull %9) #22
  %339 = icmp eq i32 %338, 0
  br i1 %339, label %340, label %554

340:                                              ; preds = %337, %334, %281
  %341 = call fastcc i32 @numbers(ptr noundef nonnull %9) #22
  %342 = icmp eq i32 %341, 0
  br i1 %342, label %343, label %554, !prof !4

343:                                              ; preds = %340
  %344 = load i32, ptr %258, align 4
  %345 = and i32 %344, 16
  %346 = icmp eq i32 %345, 0
  br i1 %346, label %353, label %347, !prof !4

347:                                              ; preds = %343
  call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 8 dereferenceable(56) %8, ptr noundef nonnull align 8 dereferenceable(56) %96, i64 56, i1 false)
  %348 = call fastcc i32 @grid_of_dims(ptr noundef nonnull %9, ptr noundef %8) #22
  %349 = icmp eq i32 %348, 0
  br i1 %349, label %353, label %350

350:                                              ; preds = %347
  %351 = icmp eq i32 %348, 4
  %352 = select i1 %351, i32 0, i32 %348
  br label %554

353:                                              ; preds = %347, %343
  %354 = phi ptr [ %96, %343 ], [ %8, %347 ]
  %355 = getelementptr inbounds nuw i8, ptr %354, i64 16
  %356 = load i64, ptr %355, align 8
  store i64 %356, ptr %287, align 8
  %357 = getelementptr inbounds nuw i8, ptr %287, i64 8
  store i64 0, ptr %357, align 8
  %358 = getelementptr inbounds nuw i8, ptr %247, i64 64
  %359 = load ptr, ptr %358, align 8
  %360 = call i32 %359(ptr noundef null, ptr noundef nonnull %357) #23
  %361 = icmp eq i32 %360, 0
  br i1 %361, label %363, label %362, !prof !4

362:                                              ; preds = %353
  store i64 0, ptr %357, align 8
  br label %363

363:                                              ; preds = %362, %353
  %364 = load ptr, ptr %61, align 8
  %365 = getelementptr inbounds nuw i8, ptr %364, i64 16
  br i1 %157, label %370, label %366

366:                                              ; preds = %363
  %367 = load ptr, ptr %365, align 8
  %368 = getelementptr inbounds nuw i8, ptr %367, i64 16
  %369 = load ptr, ptr %368, align 8
  br label %376

370:                                              ; preds = %363
  %371 = load atomic i64, ptr %365 seq_cst, align 8
  %372 = inttoptr i64 %371 to ptr
  %373 = getelementptr inbounds nuw i8, ptr %372, i64 16
  %374 = load atomic i64, ptr %373 seq_cst, align 8
  %375 = inttoptr i64 %374 to ptr
  br label %376

376:                                              ; preds = %370, %366
  %377 = phi ptr [ %367, %366 ], [ %372, %370 ]
  %378 = phi ptr [ %369, %366 ], [ %375, %370 ]
  %379 = getelementptr inbounds nuw i8, ptr %246, i64 76
  %380 = load i32, ptr %379, align 4
  %381 = zext i32 %380 to i64
  %382 = getelementptr inbounds nuw i8, ptr %378, i64 %381
  %383 = getelementptr inbounds nuw i8, ptr %246, i64 68
  %384 = load i32, ptr %383, align 4
  %385 = icmp eq i32 %384, 0
  br i1 %385, label %403, label %386

386:                                              ; preds = %376
  %387 = zext i32 %384 to i64
  br label %390

388:                                              ; preds = %390
  %389 = icmp eq i64 %398, 0
  br i1 %389, label %406, label %401, !prof !16

390:                                              ; preds = %386, %390
  %391 = phi i64 [ 0, %386 ], [ %399, %390 ]
  %392 = phi i64 [ 0, %386 ], [ %398, %390 ]
  %393 = getelementptr inbounds nuw i64, ptr %287, i64 %391
  %394 = load i64, ptr %393, align 8
  %395 = getelementptr inbounds nuw i64, ptr %382, i64 %391
  %396 = load i64, ptr %395, align 8
  %397 = xor i64 %396, %394
  %398 = or i64 %397, %392
  %399 = add nuw nsw i64 %391, 1
  %400 = icmp eq i64 %399, %387
  br i1 %400, label %388, label %390, !llvm.loop !17

401:                                              ; preds = %388
  %402 = call fastcc ptr @search(ptr noundef nonnull %246, ptr noundef nonnull %377, ptr noundef nonnull %287) #22
  br label %403

403:                                              ; preds = %376, %401
  %404 = phi ptr [ %402, %401 ], [ %378, %376 ]
  %405 = icmp eq ptr %404, null
  br i1 %405, label %554, label %406, !prof !19

406:                                              ; preds = %388, %403
  %407 = phi ptr [ %404, %403 ], [ %378, %388 ]
  br i1 %157, label %412, label %408

408:                                              ; preds = %406
  %409 = getelementptr inbounds nuw i8, ptr %377, i64 8
  %410 = load i64, ptr %409, align 8
  %411 = add i64 %410, 1
  store i64 %411, ptr %409, align 8
  br label %412

412:                                              ; preds = %408, %406
  %413 = phi ptr [ null, %406 ], [ %377, %408 ]
  %414 = getelementptr inbounds nuw i8, ptr %246, i64 52
  %415 = load i32, ptr %414, align 4
  %416 = icmp eq i32 %415, 0
  br i1 %416, label %420, label %417

417:                                              ; preds = %412
  %418 = call fastcc i32 @make(ptr noundef nonnull %9, ptr noundef nonnull %407) #22
  %419 = icmp eq i32 %418, 0
  br i1 %419, label %420, label %556, !prof !4

420:                                              ; preds = %417, %412
  %421 = call ptr @llvm.stacksave.p0()
  %422 = load ptr, ptr %9, align 8
  %423 = getelementptr inbounds nuw i8, ptr %422, i64 92
  %424 = load i32, ptr %423, align 4
  %425 = add i32 %424, 1
  %426 = zext i32 %425 to i64
  %427 = alloca ptr, i64 %426, align 16
  %428 = load ptr, ptr %57, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %5) #21
  %429 = getelementptr inbounds nuw i8, ptr %422, i64 80
  %430 = load i32, ptr %429, align 8
  %431 = zext i32 %430 to i64
  %432 = getelementptr inbounds nuw i8, ptr %407, i64 %431
  %433 = getelementptr inbounds nuw i8, ptr %407, i64 72
  %434 = load i64, ptr %433, align 8
  %435 = shl nuw nsw i64 %434, 3
  %436 = getelementptr inbounds nuw i8, ptr %432, i64 %435
  call void @llvm.lifetime.start.p0(ptr nonnull %6) #21
  %437 = getelementptr inbounds nuw i8, ptr %407, i64 92
  %438 = load i32, ptr %437, align 4
  %439 = zext i32 %438 to i64
  store i64 %439, ptr %6, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %7) #21
  store ptr inttoptr (i64 1 to ptr), ptr %7, align 16
  %440 = getelementptr inbounds nuw i8, ptr %7, i64 8
  store ptr %427, ptr %440, align 8
  %441 = getelementptr inbounds nuw i8, ptr %7, i64 16
  store ptr inttoptr (i64 2 to ptr), ptr %441, align 16
  %442 = getelementptr inbounds nuw i8, ptr %7, i64 24
  store ptr %6, ptr %442, align 8
  %443 = getelementptr inbounds nuw i8, ptr %7, i64 32
  store ptr null, ptr %443, align 16
  %444 = getelementptr inbounds nuw i8, ptr %407, i64 32
  %445 = load i32, ptr %444, align 8
  switch i32 %445, label %448 [
    i32 2, label %454
    i32 0, label %446
  ], !prof !20

446:                                              ; preds = %420
  %447 = load i32, ptr %354, align 4
  br label %470

448:                                              ; preds = %420
  %449 = getelementptr inbounds nuw i8, ptr %407, i64 80
  %450 = load i32, ptr %354, align 4
  %451 = load i32, ptr %449, align 4
  %452 = urem i32 %450, %451
  %453 = icmp eq i32 %452, 0
  br i1 %453, label %456, label %552

454:                                              ; preds = %420
  %455 = call fastcc i32 @submit_all(ptr noundef nonnull %9, ptr noundef nonnull %407) #22
  br label %552

456:                                              ; preds = %448
  %457 = getelementptr inbounds nuw i8, ptr %354, i64 4
  %458 = load i32, ptr %457, align 4
  %459 = getelementptr inbounds nuw i8, ptr %407, i64 84
  %460 = load i32, ptr %459, align 4
  %461 = urem i32 %458, %460
  %462 = icmp eq i32 %461, 0
  br i1 %462, label %463, label %552

463:                                              ; preds = %456
  %464 = getelementptr inbounds nuw i8, ptr %354, i64 8
  %465 = load i32, ptr %464, align 4
  %466 = getelementptr inbounds nuw i8, ptr %407, i64 88
  %467 = load i32, ptr %466, align 4
  %468 = urem i32 %465, %467
  %469 = icmp eq i32 %468, 0
  br i1 %469, label %470, label %552

470:                                              ; preds = %463, %446
  %471 = phi i32 [ %447, %446 ], [ %450, %463 ]
  %472 = getelementptr inbounds nuw i8, ptr %407, i64 36
  %473 = getelementptr inbounds nuw i8, ptr %5, i64 12
  store i32 %471, ptr %5, align 8
  %474 = load i32, ptr %472, align 4
  store i32 %474, ptr %473, align 4
  %475 = getelementptr inbounds nuw i8, ptr %354, i64 4
  %476 = load i32, ptr %475, align 4
  %477 = getelementptr inbounds nuw i8, ptr %5, i64 4
  store i32 %476, ptr %477, align 4
  %478 = getelementptr inbounds nuw i8, ptr %407, i64 40
  %479 = load i32, ptr %478, align 4
  %480 = getelementptr inbounds nuw i8, ptr %5, i64 16
  store i32 %479, ptr %480, align 8
  %481 = getelementptr inbounds nuw i8, ptr %354, i64 8
  %482 = load i32, ptr %481, align 4
  %483 = getelementptr inbounds nuw i8, ptr %5, i64 8
  store i32 %482, ptr %483, align 8
  %484 = getelementptr inbounds nuw i8, ptr %407, i64 44
  %485 = load i32, ptr %484, align 4
  %486 = getelementptr inbounds nuw i8, ptr %5, i64 20
  store i32 %485, ptr %486, align 4
  %487 = getelementptr inbounds nuw i8, ptr %407, i64 48
  %488 = load i64, ptr %487, align 8
  %489 = getelementptr inbounds nuw i8, ptr %5, i64 24
  store i64 %488, ptr %489, align 8
  %490 = getelementptr inbounds nuw i8, ptr %9, i64 80
  %491 = load ptr, ptr %490, align 8
  %492 = getelementptr inbounds nuw i8, ptr %5, i64 32
  store ptr %491, ptr %492, align 8
  %493 = getelementptr inbounds nuw i8, ptr %407, i64 56
  %494 = load ptr, ptr %493, align 8
  %495 = getelementptr inbounds nuw i8, ptr %5, i64 40
  store ptr %494, ptr %495, align 8
  %496 = getelementptr inbounds nuw i8, ptr %407, i64 64
  %497 = load i64, ptr %496, align 8
  %498 = getelementptr inbounds nuw i8, ptr %5, i64 48
  store i64 %497, ptr %498, align 8
  %499 = icmp eq i32 %438, 0
  %500 = icmp eq i64 %434, 0
  br i1 %499, label %502, label %501, !prof !5

501:                                              ; preds = %470
  br i1 %500, label %524, label %503

502:                                              ; preds = %470
  br i1 %500, label %524, label %515

503:                                              ; preds = %501, %503
  %504 = phi ptr [ %513, %503 ], [ %432, %501 ]
  %505 = load i32, ptr %504, align 4
  %506 = zext i32 %505 to i64
  %507 = getelementptr inbounds nuw i8, ptr %428, i64 %506
  %508 = load i64, ptr %507, align 8
  %509 = getelementptr inbounds nuw i8, ptr %504, i64 4
  %510 = load i32, ptr %509, align 4
  %511 = zext i32 %510 to i64
  %512 = getelementptr inbounds nuw i8, ptr %427, i64 %511
  store i64 %508, ptr %512, align 1
  %513 = getelementptr inbounds nuw i8, ptr %504, i64 8
  %514 = icmp ult ptr %513, %436
  br i1 %514, label %503, label %524, !llvm.loop !21

515:                                              ; preds = %502, %515
  %516 = phi ptr [ %522, %515 ], [ %432, %502 ]
  %517 = phi ptr [ %521, %515 ], [ %427, %502 ]
  %518 = load i32, ptr %516, align 4
  %519 = zext i32 %518 to i64
  %520 = getelementptr inbounds nuw i8, ptr %428, i64 %519
  %521 = getelementptr inbounds nuw i8, ptr %517, i64 8
  store ptr %520, ptr %517, align 8
  %522 = getelementptr inbounds nuw i8, ptr %516, i64 8
  %523 = icmp ult ptr %522, %436
  br i1 %523, label %515, label %524, !llvm.loop !22

524:                                              ; preds = %503, %515, %501, %502
  %525 = phi ptr [ null, %502 ], [ %7, %501 ], [ null, %515 ], [ %7, %503 ]
  %526 = phi ptr [ %427, %502 ], [ null, %501 ], [ %427, %515 ], [ null, %503 ]
  %527 = getelementptr inbounds nuw i8, ptr %407, i64 16
  %528 = load i64, ptr %527, align 8
  %529 = getelementptr inbounds nuw i8, ptr %422, i64 96
  %530 = load i32, ptr %529, align 8
  %531 = zext i32 %530 to i64
  %532 = getelementptr inbounds nuw i8, ptr %428, i64 %531
  %533 = getelementptr inbounds nuw i8, ptr %532, i64 8
  %534 = load i64, ptr %533, align 8
  %535 = icmp eq i64 %528, %534
  %536 = load ptr, ptr %60, align 8
  br i1 %535, label %537, label %550, !prof !4

537:                                              ; preds = %524
  %538 = getelementptr inbounds nuw i8, ptr %536, i64 72
  %539 = load ptr, ptr %538, align 8
  %540 = call ptr %539() #23
  %541 = getelementptr inbounds nuw i8, ptr %536, i64 80
  %542 = load ptr, ptr %541, align 8
  %543 = getelementptr inbounds nuw i8, ptr %407, i64 24
  %544 = load ptr, ptr %543, align 8
  %545 = call i32 %542(ptr noundef nonnull %5, ptr noundef %544, ptr noundef %526, ptr noundef %525) #23
  %546 = getelementptr inbounds nuw i8, ptr %536, i64 88
  %547 = load ptr, ptr %546, align 8
  call void %547(ptr noundef %540) #23
  %548 = icmp ne i32 %545, 0
  %549 = zext i1 %548 to i32
  br label %552

550:                                              ; preds = %524
  %551 = call fastcc i32 @submit_there(ptr noundef %536, ptr noundef %5, ptr noundef nonnull %407, ptr noundef %526, ptr noundef %525) #22
  br label %552

552:                                              ; preds = %448, %456, %463, %454, %537, %550
  %553 = phi i32 [ %455, %454 ], [ %549, %537 ], [ %551, %550 ], [ 1, %463 ], [ 1, %456 ], [ 1, %448 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %7) #21
  call void @llvm.lifetime.end.p0(ptr nonnull %6) #21
  call void @llvm.lifetime.end.p0(ptr nonnull %5) #21
  call void @llvm.stackrestore.p0(ptr %421)
  br label %556

554:                                              ; preds = %403, %350, %340, %337, %331, %297, %279, %254, %245
  %555 = phi i32 [ 2, %403 ], [ %352, %350 ], [ 1, %337 ], [ 1, %331 ], [ %298, %297 ], [ %341, %340 ], [ %255, %254 ], [ %248, %245 ], [ %280, %279 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %8) #21
  br label %563

556:                                              ; preds = %552, %417
  %557 = phi i32 [ %553, %552 ], [ %418, %417 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %8) #21
  %558 = icmp eq ptr %413, null
  br i1 %558, label %563, label %559, !prof !13

559:                                              ; preds = %556
  %560 = getelementptr inbounds nuw i8, ptr %413, i64 8
  %561 = load i64, ptr %560, align 8
  %562 = add i64 %561, -1
  store i64 %562, ptr %560, align 8
  br label %563

563:                                              ; preds = %42, %80, %92, %104, %235, %203, %158, %554, %559, %556
  %564 = phi i1 [ %233, %554 ], [ %233, %559 ], [ %233, %556 ], [ true, %80 ], [ false, %235 ], [ true, %203 ], [ true, %158 ], [ true, %104 ], [ true, %92 ], [ true, %42 ]
  %565 = phi i32 [ %555, %554 ], [ %557, %559 ], [ %557, %556 ], [ %81, %80 ], [ %241, %235 ], [ 1, %203 ], [ 1, %158 ], [ 1, %104 ], [ %94, %92 ], [ 1, %42 ]
  %566 = phi ptr [ %97, %554 ], [ %97, %559 ], [ %97, %556 ], [ null, %80 ], [ %97, %235 ], [ %97, %203 ], [ %97, %158 ], [ %97, %104 ], [ %87, %92 ], [ null, %42 ]
  %567 = phi ptr [ %173, %554 ], [ %173, %559 ], [ %173, %556 ], [ null, %80 ], [ %173, %235 ], [ %173, %203 ], [ null, %158 ], [ null, %104 ], [ null, %92 ], [ null, %42 ]
  %568 = tail call i32 @has_lock() #20
  %569 = icmp eq i32 %568, 0
  %570 = icmp ne ptr %567, null
  %571 = and i1 %570, %569
  br i1 %571, label %572, label %575

572:                                              ; preds = %563
  %573 = load i64, ptr %567, align 8
  %574 = add i64 %573, 1
  store atomic i64 %574, ptr %567 release, align 8
  br label %575

575:                                              ; preds = %563, %572
  br i1 %564, label %598, label %576, !prof !4

576:                                              ; preds = %575
  %577 = load i32, ptr %25, align 8
  %578 = getelementptr inbounds nuw i8, ptr %25, i64 16
  %579 = load i32, ptr %578, align 8
  %580 = icmp ult i32 %577, %579
  br i1 %580, label %581, label %598

581:                                              ; preds = %576
  %582 = getelementptr inbounds nuw i8, ptr %23, i64 192
  %583 = zext i32 %577 to i64
  br label %584

584:                                              ; preds = %581, %593
  %585 = phi i32 [ %579, %581 ], [ %594, %593 ]
  %586 = phi i64 [ %583, %581 ], [ %595, %593 ]
  %587 = getelementptr inbounds nuw ptr, ptr %56, i64 %586
  %588 = load ptr, ptr %587, align 8
  %589 = icmp eq ptr %588, null
  br i1 %589, label %593, label %590

590:                                              ; preds = %584
  %591 = load ptr, ptr %582, align 8
  call void %591(ptr noundef nonnull %588) #23
  %592 = load i32, ptr %578, align 8
  br label %593

593:                                              ; preds = %584, %590
  %594 = phi i32 [ %585, %584 ], [ %592, %590 ]
  %595 = add nuw nsw i64 %586, 1
  %596 = zext i32 %594 to i64
  %597 = icmp samesign ult i64 %595, %596
  br i1 %597, label %584, label %598, !llvm.loop !23

598:                                              ; preds = %593, %576, %575
  %599 = getelementptr inbounds nuw i8, ptr %9, i64 72
  %600 = load ptr, ptr %599, align 8
  %601 = icmp eq ptr %600, null
  br i1 %601, label %605, label %602, !prof !4

602:                                              ; preds = %598
  %603 = getelementptr inbounds nuw i8, ptr %23, i64 192
  %604 = load ptr, ptr %603, align 8
  call void %604(ptr noundef nonnull %600) #23
  br label %605

605:                                              ; preds = %602, %598
  %606 = icmp eq ptr %566, null
  br i1 %606, label %610, label %607, !prof !4

607:                                              ; preds = %605
  %608 = getelementptr inbounds nuw i8, ptr %23, i64 192
  %609 = load ptr, ptr %608, align 8
  call void %609(ptr noundef nonnull %566) #23
  br label %610

610:                                              ; preds = %607, %605
  switch i32 %565, label %630 [
    i32 0, label %611
    i32 3, label %633
    i32 2, label %623
  ], !prof !24

611:                                              ; preds = %610
  %612 = getelementptr inbounds nuw i8, ptr %23, i64 104
  %613 = load i64, ptr %612, align 8
  %614 = icmp eq i64 %613, 0
  br i1 %614, label %620, label %615, !prof !4

615:                                              ; preds = %611
  %616 = getelementptr inbounds nuw i8, ptr %23, i64 184
  %617 = load ptr, ptr %616, align 8
  %618 = getelementptr inbounds nuw i8, ptr %23, i64 96
  %619 = load ptr, ptr %618, align 8
  call void %617(ptr noundef %619) #23
  br label %620

620:                                              ; preds = %615, %611
  %621 = getelementptr inbounds nuw i8, ptr %23, i64 96
  %622 = load ptr, ptr %621, align 8
  br label %633

623:                                              ; preds = %610
  %624 = load ptr, ptr %57, align 8
  %625 = load ptr, ptr %9, align 8
  %626 = getelementptr inbounds nuw i8, ptr %625, i64 96
  %627 = load i32, ptr %626, align 8
  %628 = zext i32 %627 to i64
  %629 = getelementptr inbounds nuw i8, ptr %624, i64 %628
  br label %630

630:                                              ; preds = %610, %623
  %631 = phi ptr [ %629, %623 ], [ null, %610 ]
  %632 = call fastcc ptr @anew(ptr noundef %21, ptr noundef %631, ptr noundef %44, ptr noundef %46, i64 noundef %45, ptr noundef %3) #22
  br label %633

633:                                              ; preds = %610, %630, %620
  %634 = phi ptr [ %622, %620 ], [ %632, %630 ], [ null, %610 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %9) #21
  ret ptr %634
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.start.p0(ptr captures(none)) #1

; Function Attrs: mustprogress nocallback nofree nounwind willreturn memory(argmem: write)
declare void @llvm.memset.p0.i64(ptr writeonly captures(none), i8, i64, i1 immarg) #2

; Function Attrs: noinline nounwind
define internal fastcc ptr @forward(ptr noundef readonly captures(none) %0, ptr noundef %1, ptr noundef %2, ptr noundef %3, ptr noundef readonly captures(none) %4, i64 noundef %5, ptr noundef %6) unnamed_addr #3 {
  %8 = icmp eq ptr %6, null
  br i1 %8, label %13, label %9

9:                                                ; preds = %7
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 208
  %11 = load ptr, ptr %10, align 8
  %12 = tail call i64 %11(ptr noundef nonnull %6) #23
  br label %13

13:                                               ; preds = %7, %9
  %14 = phi i64 [ %12, %9 ], [ 0, %7 ]
  %15 = add nsw i64 %14, %5
  %16 = add nsw i64 %15, 2
  %17 = alloca ptr, i64 %16, align 16
  store ptr %2, ptr %17, align 16
  %18 = getelementptr inbounds nuw i8, ptr %17, i64 8
  store ptr %3, ptr %18, align 8
  %19 = icmp sgt i64 %15, 0
  br i1 %19, label %20, label %42

20:                                               ; preds = %13
  %21 = add i64 %14, %5
  %22 = add i64 %21, -1
  %23 = and i64 %15, 7
  %24 = icmp ult i64 %22, 7
  br i1 %24, label %29, label %25

25:                                               ; preds = %20
  %26 = and i64 %15, 9223372036854775800
  br label %51

27:                                               ; preds = %51
  %28 = icmp eq i64 %23, 0
  br i1 %28, label %42, label %29

29:                                               ; preds = %27, %20
  %30 = phi i64 [ 0, %20 ], [ %93, %27 ]
  %31 = icmp ne i64 %23, 0
  tail call void @llvm.assume(i1 %31)
  br label %32

32:                                               ; preds = %32, %29
  %33 = phi i64 [ %39, %32 ], [ %30, %29 ]
  %34 = phi i64 [ %40, %32 ], [ 0, %29 ]
  %35 = getelementptr inbounds nuw ptr, ptr %4, i64 %33
  %36 = load ptr, ptr %35, align 8
  %37 = getelementptr inbounds nuw ptr, ptr %17, i64 %33
  %38 = getelementptr inbounds nuw i8, ptr %37, i64 16
  store ptr %36, ptr %38, align 8
  %39 = add nuw nsw i64 %33, 1
  %40 = add i64 %34, 1
  %41 = icmp eq i64 %40, %23
  br i1 %41, label %42, label %32, !llvm.loop !25

42:                                               ; preds = %27, %32, %13
  %43 = getelementptr inbounds nuw i8, ptr %0, i64 224
  %44 = load ptr, ptr %43, align 8
  %45 = icmp eq ptr %2, null
  %46 = zext i1 %45 to i64
  %47 = getelementptr inbounds nuw ptr, ptr %17, i64 %46
  %48 = select i1 %45, i64 1, i64 2
  %49 = add i64 %48, %5
  %50 = call ptr %44(ptr noundef %1, ptr noundef nonnull %47, i64 noundef %49, ptr noundef %6) #23
  ret ptr %50

51:                                               ; preds = %51, %25
  %52 = phi i64 [ 0, %25 ], [ %93, %51 ]
  %53 = phi i64 [ 0, %25 ], [ %94, %51 ]
  %54 = getelementptr inbounds nuw ptr, ptr %4, i64 %52
  %55 = load ptr, ptr %54, align 8
  %56 = getelementptr inbounds nuw ptr, ptr %17, i64 %52
  %57 = getelementptr inbounds nuw i8, ptr %56, i64 16
  store ptr %55, ptr %57, align 16
  %58 = or disjoint i64 %52, 1
  %59 = getelementptr inbounds nuw ptr, ptr %4, i64 %58
  %60 = load ptr, ptr %59, align 8
  %61 = getelementptr inbounds nuw ptr, ptr %17, i64 %58
  %62 = getelementptr inbounds nuw i8, ptr %61, i64 16
  store ptr %60, ptr %62, align 8
  %63 = or disjoint i64 %52, 2
  %64 = getelementptr inbounds nuw ptr, ptr %4, i64 %63
  %65 = load ptr, ptr %64, align 8
  %66 = getelementptr inbounds nuw ptr, ptr %17, i64 %63
  %67 = getelementptr inbounds nuw i8, ptr %66, i64 16
  store ptr %65, ptr %67, align 16
  %68 = or disjoint i64 %52, 3
  %69 = getelementptr inbounds nuw ptr, ptr %4, i64 %68
  %70 = load ptr, ptr %69, align 8
  %71 = getelementptr inbounds nuw ptr, ptr %17, i64 %68
  %72 = getelementptr inbounds nuw i8, ptr %71, i64 16
  store ptr %70, ptr %72, align 8
  %73 = or disjoint i64 %52, 4
  %74 = getelementptr inbounds nuw ptr, ptr %4, i64 %73
  %75 = load ptr, ptr %74, align 8
  %76 = getelementptr inbounds nuw ptr, ptr %17, i64 %73
  %77 = getelementptr inbounds nuw i8, ptr %76, i64 16
  store ptr %75, ptr %77, align 16
  %78 = or disjoint i64 %52, 5
  %79 = getelementptr inbounds nuw ptr, ptr %4, i64 %78
  %80 = load ptr, ptr %79, align 8
  %81 = getelementptr inbounds nuw ptr, ptr %17, i64 %78
  %82 = getelementptr inbounds nuw i8, ptr %81, i64 16
  store ptr %80, ptr %82, align 8
  %83 = or disjoint i64 %52, 6
  %84 = getelementptr inbounds nuw ptr, ptr %4, i64 %83
  %85 = load ptr, ptr %84, align 8
  %86 = getelementptr inbounds nuw ptr, ptr %17, i64 %83
  %87 = getelementptr inbounds nuw i8, ptr %86, i64 16
  store ptr %85, ptr %87, align 16
  %88 = or disjoint i64 %52, 7
  %89 = getelementptr inbounds nuw ptr, ptr %4, i64 %88
  %90 = load ptr, ptr %89, align 8
  %91 = getelementptr inbounds nuw ptr, ptr %17, i64 %88
  %92 = getelementptr inbounds nuw i8, ptr %91, i64 16
  store ptr %90, ptr %92, align 8
  %93 = add nuw nsw i64 %52, 8
  %94 = add i64 %53, 8
  %95 = icmp eq i64 %94, %26
  br i1 %95, label %27, label %51, !llvm.loop !26
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 1, 4) i32 @failed(ptr noundef readonly captures(none) %0) unnamed_addr #3 {
  %2 = getelementptr inbounds nuw i8, ptr %0, i64 160
  %3 = load ptr, ptr %2, align 8
  %4 = tail call ptr %3() #23
  %5 = icmp eq ptr %4, null
  br i1 %5, label %16, label %6

6:                                                ; preds = %1
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 176
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 336
  %10 = load ptr, ptr %9, align 8
  %11 = tail call i32 %8(ptr noundef %10) #23
  %12 = icmp eq i32 %11, 0
  br i1 %12, label %16, label %13

13:                                               ; preds = %6
  %14 = getelementptr inbounds nuw i8, ptr %0, i64 168
  %15 = load ptr, ptr %14, align 8
  tail call void %15() #23
  br label %16

16:                                               ; preds = %6, %1, %13
  %17 = phi i32 [ 1, %13 ], [ 1, %1 ], [ 3, %6 ]
  ret i32 %17
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 2) i32 @bind(ptr noundef readonly captures(none) %0, ptr noundef readonly captures(none) %1, ptr noundef readonly captures(none) %2, i64 noundef %3, ptr noundef %4, ptr noundef nonnull captures(none) %5) unnamed_addr #3 {
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 104
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr inbounds nuw i8, ptr %8, i64 8
  %10 = load i32, ptr %9, align 8
  %11 = zext i32 %10 to i64
  %12 = icmp ugt i64 %3, %11
  br i1 %12, label %97, label %13

13:                                               ; preds = %6
  %14 = load i32, ptr %8, align 8
  %15 = icmp eq i32 %14, 0
  br i1 %15, label %16, label %18

16:                                               ; preds = %24, %13
  %17 = icmp eq ptr %4, null
  br i1 %17, label %41, label %31

18:                                               ; preds = %13, %24
  %19 = phi i64 [ %27, %24 ], [ 0, %13 ]
  %20 = icmp ugt i64 %3, %19
  br i1 %20, label %21, label %24

21:                                               ; preds = %18
  %22 = getelementptr inbounds nuw ptr, ptr %2, i64 %19
  %23 = load ptr, ptr %22, align 8
  br label %24

24:                                               ; preds = %18, %21
  %25 = phi ptr [ %23, %21 ], [ null, %18 ]
  %26 = getelementptr inbounds nuw ptr, ptr %5, i64 %19
  store ptr %25, ptr %26, align 8
  %27 = add nuw nsw i64 %19, 1
  %28 = load i32, ptr %8, align 8
  %29 = zext i32 %28 to i64
  %30 = icmp samesign ult i64 %27, %29
  br i1 %30, label %18, label %16, !llvm.loop !27

31:                                               ; preds = %16
  %32 = getelementptr inbounds nuw i8, ptr %1, i64 208
  %33 = load ptr, ptr %32, align 8
  %34 = tail call i64 %33(ptr noundef nonnull %4) #23
  %35 = icmp sgt i64 %34, 0
  br i1 %35, label %36, label %41

36:                                               ; preds = %31
  %37 = getelementptr inbounds nuw i8, ptr %1, i64 200
  %38 = getelementptr inbounds nuw i8, ptr %8, i64 12
  %39 = getelementptr inbounds nuw i8, ptr %0, i64 80
  %40 = getelementptr ptr, ptr %2, i64 %3
  br label %45

41:                                               ; preds = %74, %16, %31
  %42 = getelementptr inbounds nuw i8, ptr %0, i64 88
  %43 = load i32, ptr %8, align 8
  %44 = icmp eq i32 %43, 0
  br i1 %44, label %97, label %79

45:                                               ; preds = %36, %74
  %46 = phi i64 [ 0, %36 ], [ %77, %74 ]
  %47 = load ptr, ptr %37, align 8
  %48 = tail call ptr %47(ptr noundef nonnull %4, i64 noundef %46) #23
  %49 = load i32, ptr %38, align 4
  %50 = load i32, ptr %8, align 8
  %51 = icmp ult i32 %49, %50
  br i1 %51, label %52, label %66

52:                                               ; preds = %45
  %53 = load ptr, ptr %39, align 8
  %54 = zext i32 %49 to i64
  %55 = zext i32 %50 to i64
  br label %56

56:                                               ; preds = %52, %61
  %57 = phi i64 [ %54, %52 ], [ %62, %61 ]
  %58 = getelementptr inbounds nuw ptr, ptr %53, i64 %57
  %59 = load ptr, ptr %58, align 8
  %60 = icmp eq ptr %59, %48
  br i1 %60, label %64, label %61

61:                                               ; preds = %56
  %62 = add nuw nsw i64 %57, 1
  %63 = icmp eq i64 %62, %55
  br i1 %63, label %97, label %56, !llvm.loop !28

64:                                               ; preds = %56
  %65 = trunc nuw i64 %57 to i32
  br label %66

66:                                               ; preds = %64, %45
  %67 = phi i32 [ %49, %45 ], [ %65, %64 ]
  %68 = icmp eq i32 %67, %50
  br i1 %68, label %97, label %69

69:                                               ; preds = %66
  %70 = zext i32 %67 to i64
  %71 = getelementptr inbounds nuw ptr, ptr %5, i64 %70
  %72 = load ptr, ptr %71, align 8
  %73 = icmp eq ptr %72, null
  br i1 %73, label %74, label %97

74:                                               ; preds = %69
  %75 = getelementptr ptr, ptr %40, i64 %46
  %76 = load ptr, ptr %75, align 8
  store ptr %76, ptr %71, align 8
  %77 = add nuw nsw i64 %46, 1
  %78 = icmp eq i64 %77, %34
  br i1 %78, label %41, label %45, !llvm.loop !29

79:                                               ; preds = %41, %92
  %80 = phi i32 [ %93, %92 ], [ %43, %41 ]
  %81 = phi i64 [ %94, %92 ], [ 0, %41 ]
  %82 = getelementptr inbounds nuw ptr, ptr %5, i64 %81
  %83 = load ptr, ptr %82, align 8
  %84 = icmp eq ptr %83, null
  br i1 %84, label %85, label %92

85:                                               ; preds = %79
  %86 = load ptr, ptr %42, align 8
  %87 = getelementptr inbounds nuw ptr, ptr %86, i64 %81
  %88 = load ptr, ptr %87, align 8
  store ptr %88, ptr %82, align 8
  %89 = icmp eq ptr %88, null
  br i1 %89, label %97, label %90

90:                                               ; preds = %85
  %91 = load i32, ptr %8, align 8
  br label %92

92:                                               ; preds = %90, %79
  %93 = phi i32 [ %91, %90 ], [ %80, %79 ]
  %94 = add nuw nsw i64 %81, 1
  %95 = zext i32 %93 to i64
  %96 = icmp samesign ult i64 %94, %95
  br i1 %96, label %79, label %97, !llvm.loop !30

97:                                               ; preds = %66, %69, %61, %85, %92, %41, %6
  %98 = phi i32 [ 1, %6 ], [ 1, %85 ], [ 0, %41 ], [ 1, %61 ], [ 0, %92 ], [ 1, %69 ], [ 1, %66 ]
  ret i32 %98
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.end.p0(ptr captures(none)) #1

; Function Attrs: mustprogress nofree nosync nounwind willreturn memory(none)
; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 4) i32 @fetch(ptr noundef readonly captures(none) %0, ptr noundef readonly captures(none) %1, ptr noundef nonnull captures(none) %2, ptr noundef captures(none) %3) unnamed_addr #3 {
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 104
  %6 = load ptr, ptr %5, align 8
  %7 = getelementptr inbounds nuw i8, ptr %6, i64 136
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr inbounds nuw i8, ptr %6, i64 20
  %10 = load i32, ptr %9, align 4
  %11 = zext i32 %10 to i64
  %12 = shl nuw nsw i64 %11, 4
  %13 = getelementptr inbounds nuw i8, ptr %8, i64 %12
  %14 = load i32, ptr %6, align 8
  %15 = getelementptr inbounds nuw i8, ptr %6, i64 16
  %16 = load i32, ptr %15, align 8
  %17 = icmp ult i32 %14, %16
  br i1 %17, label %18, label %20

18:                                               ; preds = %4
  %19 = zext i32 %14 to i64
  br label %30

20:                                               ; preds = %30, %4
  %21 = icmp eq i32 %10, 0
  br i1 %21, label %148, label %22

22:                                               ; preds = %20
  %23 = getelementptr inbounds nuw i8, ptr %1, i64 248
  %24 = getelementptr inbounds nuw i8, ptr %1, i64 112
  %25 = getelementptr inbounds nuw i8, ptr %1, i64 328
  %26 = getelementptr inbounds nuw i8, ptr %1, i64 240
  %27 = getelementptr inbounds nuw i8, ptr %0, i64 96
  %28 = getelementptr inbounds nuw i8, ptr %1, i64 256
  %29 = getelementptr inbounds nuw i8, ptr %1, i64 96
  br label %39

30:                                               ; preds = %18, %30
  %31 = phi i64 [ %19, %18 ], [ %33, %30 ]
  %32 = getelementptr inbounds nuw ptr, ptr %2, i64 %31
  store ptr null, ptr %32, align 8
  %33 = add nuw nsw i64 %31, 1
  %34 = load ptr, ptr %5, align 8
  %35 = getelementptr inbounds nuw i8, ptr %34, i64 16
  %36 = load i32, ptr %35, align 8
  %37 = zext i32 %36 to i64
  %38 = icmp samesign ult i64 %33, %37
  br i1 %38, label %30, label %20, !llvm.loop !31

39:                                               ; preds = %22, %143
  %40 = phi ptr [ %8, %22 ], [ %144, %143 ]
  %41 = getelementptr inbounds nuw i8, ptr %40, i64 4
  %42 = load i16, ptr %41, align 4
  %43 = icmp eq i16 %42, -1
  br i1 %43, label %56, label %44

44:                                               ; preds = %39
  %45 = zext i16 %42 to i64
  %46 = getelementptr inbounds nuw i8, ptr %3, i64 %45
  %47 = load i8, ptr %46, align 1
  %48 = icmp eq i8 %47, 0
  %49 = getelementptr inbounds nuw i8, ptr %40, i64 2
  %50 = load i16, ptr %49, align 2
  %51 = zext i16 %50 to i64
  %52 = getelementptr inbounds nuw ptr, ptr %2, i64 %51
  %53 = load ptr, ptr %52, align 8
  %54 = load i16, ptr %40, align 4
  %55 = icmp eq i16 %54, 0
  br i1 %55, label %64, label %76

56:                                               ; preds = %39
  %57 = getelementptr inbounds nuw i8, ptr %40, i64 2
  %58 = load i16, ptr %57, align 2
  %59 = zext i16 %58 to i64
  %60 = getelementptr inbounds nuw ptr, ptr %2, i64 %59
  %61 = load ptr, ptr %60, align 8
  %62 = load i16, ptr %40, align 4
  %63 = icmp eq i16 %62, 0
  br i1 %63, label %65, label %77

64:                                               ; preds = %44
  br i1 %48, label %70, label %65

65:                                               ; preds = %56, %64
  %66 = phi ptr [ %53, %64 ], [ %61, %56 ]
  %67 = load ptr, ptr %29, align 8
  %68 = icmp ne ptr %66, %67
  %69 = zext i1 %68 to i8
  br label %70

70:                                               ; preds = %65, %64
  %71 = phi i8 [ 0, %64 ], [ %69, %65 ]
  %72 = getelementptr inbounds nuw i8, ptr %40, i64 6
  %73 = load i16, ptr %72, align 2
  %74 = zext i16 %73 to i64
  %75 = getelementptr inbounds nuw i8, ptr %3, i64 %74
  store i8 %71, ptr %75, align 1
  br label %143

76:                                               ; preds = %44
  br i1 %48, label %143, label %77

77:                                               ; preds = %56, %76
  %78 = phi ptr [ %53, %76 ], [ %61, %56 ]
  %79 = phi i16 [ %54, %76 ], [ %62, %56 ]
  switch i16 %79, label %121 [
    i16 2, label %80
    i16 3, label %94
    i16 4, label %110
  ]

80:                                               ; preds = %77
  %81 = load ptr, ptr %26, align 8
  %82 = load ptr, ptr %27, align 8
  %83 = getelementptr inbounds nuw i8, ptr %40, i64 8
  %84 = load i32, ptr %83, align 4
  %85 = zext i32 %84 to i64
  %86 = getelementptr inbounds nuw ptr, ptr %82, i64 %85
  %87 = load ptr, ptr %86, align 8
  %88 = tail call ptr %81(ptr noundef %78, ptr noundef %87) #23
  %89 = getelementptr inbounds nuw i8, ptr %40, i64 6
  %90 = load i16, ptr %89, align 2
  %91 = zext i16 %90 to i64
  %92 = getelementptr inbounds nuw ptr, ptr %2, i64 %91
  store ptr %88, ptr %92, align 8
  %93 = icmp eq ptr %88, null
  br i1 %93, label %146, label %143

94:                                               ; preds = %77
  %95 = tail call i64 @object_head() #20
  %96 = getelementptr inbounds i8, ptr %78, i64 %95
  %97 = getelementptr inbounds i8, ptr %96, i64 -8
  %98 = load ptr, ptr %97, align 8
  %99 = load ptr, ptr %24, align 8
  %100 = icmp eq ptr %98, %99
  br i1 %100, label %104, label %101

101:                                              ; preds = %94
  %102 = load ptr, ptr %25, align 8
  %103 = icmp eq ptr %98, %102
  br i1 %103, label %104, label %148

104:                                              ; preds = %101, %94
  %105 = load i64, ptr %96, align 8
  %106 = getelementptr inbounds nuw i8, ptr %40, i64 8
  %107 = load i32, ptr %106, align 4
  %108 = zext i32 %107 to i64
  %109 = icmp eq i64 %105, %108
  br i1 %109, label %143, label %148

110:                                              ; preds = %77
  %111 = load ptr, ptr %23, align 8
  %112 = getelementptr inbounds nuw i8, ptr %40, i64 8
  %113 = load i32, ptr %112, align 4
  %114 = zext i32 %113 to i64
  %115 = tail call ptr %111(ptr noundef %78, i64 noundef %114) #23
  %116 = getelementptr inbounds nuw i8, ptr %40, i64 6
  %117 = load i16, ptr %116, align 2
  %118 = zext i16 %117 to i64
  %119 = getelementptr inbounds nuw ptr, ptr %2, i64 %118
  store ptr %115, ptr %119, align 8
  %120 = icmp eq ptr %115, null
  br i1 %120, label %146, label %143

121:                                              ; preds = %77
  %122 = tail call i64 @object_head() #20
  %123 = getelementptr inbounds i8, ptr %78, i64 %122
  %124 = getelementptr inbounds i8, ptr %123, i64 -8
  %125 = load ptr, ptr %124, align 8
  %126 = load ptr, ptr %27, align 8
  %127 = getelementptr inbounds nuw i8, ptr %40, i64 8
  %128 = load i32, ptr %127, align 4
  %129 = zext i32 %128 to i64
  %130 = getelementptr inbounds nuw ptr, ptr %126, i64 %129
  %131 = load ptr, ptr %130, align 8
  %132 = icmp eq ptr %125, %131
  br i1 %132, label %143, label %133

133:                                              ; preds = %121
  %134 = load ptr, ptr %28, align 8
  %135 = add i32 %128, 1
  %136 = zext i32 %135 to i64
  %137 = getelementptr inbounds nuw ptr, ptr %126, i64 %136
  %138 = load ptr, ptr %137, align 8
  %139 = tail call i32 %134(ptr noundef nonnull %78, ptr noundef %138) #23
  %140 = icmp eq i32 %139, 1
  br i1 %140, label %143, label %141

141:                                              ; preds = %133
  %142 = icmp slt i32 %139, 0
  br i1 %142, label %146, label %148

143:                                              ; preds = %104, %76, %133, %121, %110, %80, %70
  %144 = getelementptr inbounds nuw i8, ptr %40, i64 16
  %145 = icmp ult ptr %144, %13
  br i1 %145, label %39, label %148, !llvm.loop !32

146:                                              ; preds = %110, %80, %141
  %147 = tail call fastcc i32 @failed(ptr noundef nonnull %1) #22
  br label %148

148:                                              ; preds = %143, %101, %104, %146, %20, %141
  %149 = phi i32 [ 1, %141 ], [ 0, %20 ], [ %147, %146 ], [ 1, %101 ], [ 0, %143 ], [ 1, %104 ]
  ret i32 %149
}

; Function Attrs: noinline nounwind
define internal fastcc ptr @anew(ptr noundef readonly captures(none) %0, ptr noundef %1, ptr noundef %2, ptr noundef readonly captures(none) %3, i64 noundef %4, ptr noundef %5) unnamed_addr #3 {
  %7 = load ptr, ptr %0, align 8
  %8 = icmp eq ptr %1, null
  br i1 %8, label %9, label %13

9:                                                ; preds = %6
  %10 = getelementptr inbounds nuw i8, ptr %7, i64 96
  %11 = load ptr, ptr %10, align 8
  %12 = icmp eq ptr %11, null
  br i1 %12, label %34, label %24

13:                                               ; preds = %6
  %14 = getelementptr inbounds nuw i8, ptr %7, i64 216
  %15 = load ptr, ptr %14, align 8
  %16 = getelementptr inbounds nuw i8, ptr %0, i64 104
  %17 = load ptr, ptr %16, align 8
  %18 = getelementptr inbounds nuw i8, ptr %17, i64 68
  %19 = load i32, ptr %18, align 4
  %20 = shl i32 %19, 3
  %21 = zext i32 %20 to i64
  %22 = tail call ptr %15(ptr noundef nonnull %1, i64 noundef %21) #23
  %23 = icmp eq ptr %22, null
  br i1 %23, label %34, label %27

24:                                               ; preds = %9
  %25 = getelementptr inbounds nuw i8, ptr %7, i64 184
  %26 = load ptr, ptr %25, align 8
  tail call void %26(ptr noundef nonnull %11) #23
  br label %27

27:                                               ; preds = %13, %24
  %28 = phi ptr [ %22, %13 ], [ %11, %24 ]
  %29 = getelementptr inbounds nuw i8, ptr %0, i64 40
  %30 = load ptr, ptr %29, align 8
  %31 = tail call fastcc ptr @forward(ptr noundef nonnull %7, ptr noundef %30, ptr noundef nonnull %28, ptr noundef %2, ptr noundef %3, i64 noundef %4, ptr noundef %5) #22
  %32 = getelementptr inbounds nuw i8, ptr %7, i64 192
  %33 = load ptr, ptr %32, align 8
  tail call void %33(ptr noundef nonnull %28) #23
  br label %34

34:                                               ; preds = %13, %9, %27
  %35 = phi ptr [ %31, %27 ], [ null, %9 ], [ null, %13 ]
  ret ptr %35
}

; Function Attrs: nounwind
define ptr @subscript(ptr noundef readonly captures(none) %0, ptr noundef %1, i64 noundef %2, ptr noundef %3) local_unnamed_addr #0 {
  %5 = tail call i64 @object_head() #20
  %6 = getelementptr inbounds i8, ptr %0, i64 %5
  %7 = getelementptr inbounds i8, ptr %6, i64 -8
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr i8, ptr %8, i64 %5
  %10 = getelementptr i8, ptr %9, i64 16
  %11 = load i64, ptr %10, align 8
  %12 = getelementptr inbounds i8, ptr %0, i64 %11
  %13 = load ptr, ptr %12, align 8
  %14 = getelementptr i8, ptr %13, i64 %5
  %15 = getelementptr i8, ptr %14, i64 16
  %16 = icmp eq i64 %2, 1
  %17 = icmp eq ptr %3, null
  %18 = and i1 %16, %17
  br i1 %18, label %19, label %104, !prof !4

19:                                               ; preds = %4
  %20 = tail call i32 @has_lock() #20
  %21 = icmp eq i32 %20, 0
  br i1 %21, label %22, label %31

22:                                               ; preds = %19
  %23 = tail call ptr @llvm.frameaddress.p0(i32 0)
  %24 = load ptr, ptr %15, align 8
  %25 = getelementptr inbounds nuw i8, ptr %24, i64 376
  %26 = load ptr, ptr %25, align 8
  %27 = ptrtoint ptr %23 to i64
  %28 = lshr i64 %27, 16
  %29 = tail call fastcc ptr @place_of(ptr noundef %26, i64 noundef %28) #22
  %30 = icmp eq ptr %29, null
  br i1 %30, label %104, label %34, !prof !10

31:                                               ; preds = %19
  %32 = getelementptr i8, ptr %14, i64 40
  %33 = load ptr, ptr %32, align 8
  br label %38

34:                                               ; preds = %22
  %35 = getelementptr i8, ptr %14, i64 40
  %36 = load atomic i64, ptr %35 seq_cst, align 8
  %37 = inttoptr i64 %36 to ptr
  br label %38

38:                                               ; preds = %34, %31
  %39 = phi ptr [ null, %31 ], [ %29, %34 ]
  %40 = phi ptr [ %33, %31 ], [ %37, %34 ]
  %41 = load ptr, ptr %1, align 8
  %42 = load ptr, ptr %15, align 8
  %43 = getelementptr inbounds nuw i8, ptr %42, i64 112
  %44 = load ptr, ptr %43, align 8
  %45 = getelementptr inbounds i8, ptr %41, i64 %5
  %46 = getelementptr inbounds i8, ptr %45, i64 -8
  %47 = load ptr, ptr %46, align 8
  %48 = icmp eq ptr %47, %44
  br i1 %48, label %49, label %80

49:                                               ; preds = %38
  %50 = getelementptr inbounds nuw i8, ptr %40, i64 48
  %51 = load ptr, ptr %50, align 8
  %52 = getelementptr inbounds i8, ptr %51, i64 %5
  %53 = getelementptr inbounds i8, ptr %52, i64 -8
  %54 = load ptr, ptr %53, align 8
  %55 = icmp eq ptr %54, %44
  br i1 %55, label %56, label %80

56:                                               ; preds = %49
  %57 = load i64, ptr %45, align 8
  %58 = icmp eq i64 %57, 2
  br i1 %58, label %59, label %80

59:                                               ; preds = %56
  %60 = load i64, ptr %52, align 8
  %61 = icmp eq i64 %60, 2
  br i1 %61, label %62, label %80

62:                                               ; preds = %59
  %63 = getelementptr i8, ptr %47, i64 %5
  %64 = getelementptr i8, ptr %63, i64 16
  %65 = load i64, ptr %64, align 8
  %66 = getelementptr inbounds i8, ptr %41, i64 %65
  %67 = load ptr, ptr %66, align 8
  %68 = getelementptr i8, ptr %54, i64 %5
  %69 = getelementptr i8, ptr %68, i64 16
  %70 = load i64, ptr %69, align 8
  %71 = getelementptr inbounds i8, ptr %51, i64 %70
  %72 = load ptr, ptr %71, align 8
  %73 = icmp eq ptr %67, %72
  br i1 %73, label %74, label %80

74:                                               ; preds = %62
  %75 = getelementptr inbounds nuw i8, ptr %66, i64 8
  %76 = load ptr, ptr %75, align 8
  %77 = getelementptr inbounds nuw i8, ptr %71, i64 8
  %78 = load ptr, ptr %77, align 8
  %79 = icmp eq ptr %76, %78
  br i1 %79, label %83, label %80

80:                                               ; preds = %38, %49, %56, %59, %62, %74
  %81 = tail call fastcc ptr @found(ptr noundef nonnull %15, ptr noundef nonnull %41) #22
  %82 = icmp eq ptr %81, null
  br i1 %82, label %98, label %83, !prof !33

83:                                               ; preds = %74, %80
  %84 = phi ptr [ %81, %80 ], [ %40, %74 ]
  %85 = getelementptr inbounds nuw i8, ptr %84, i64 40
  %86 = load ptr, ptr %85, align 8
  br i1 %21, label %90, label %87

87:                                               ; preds = %83
  %88 = load i32, ptr %86, align 4
  %89 = add i32 %88, 1
  store i32 %89, ptr %86, align 4
  br label %111

90:                                               ; preds = %83
  %91 = load ptr, ptr %15, align 8
  %92 = getelementptr inbounds nuw i8, ptr %91, i64 184
  %93 = load ptr, ptr %92, align 8
  tail call void %93(ptr noundef %86) #23
  %94 = icmp eq ptr %39, null
  br i1 %94, label %111, label %95

95:                                               ; preds = %90
  %96 = load i64, ptr %39, align 8
  %97 = add i64 %96, 1
  store atomic i64 %97, ptr %39 release, align 8
  br label %111

98:                                               ; preds = %80
  %99 = icmp ne ptr %39, null
  %100 = and i1 %21, %99
  br i1 %100, label %101, label %104

101:                                              ; preds = %98
  %102 = load i64, ptr %39, align 8
  %103 = add i64 %102, 1
  store atomic i64 %103, ptr %39 release, align 8
  br label %104

104:                                              ; preds = %101, %98, %22, %4
  %105 = load ptr, ptr %15, align 8
  %106 = getelementptr inbounds nuw i8, ptr %105, i64 224
  %107 = load ptr, ptr %106, align 8
  %108 = getelementptr i8, ptr %14, i64 32
  %109 = load ptr, ptr %108, align 8
  %110 = tail call ptr %107(ptr noundef %109, ptr noundef %1, i64 noundef %2, ptr noundef %3) #23
  br label %111

111:                                              ; preds = %90, %95, %87, %104
  %112 = phi ptr [ %110, %104 ], [ %86, %87 ], [ %86, %95 ], [ %86, %90 ]
  ret ptr %112
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(none)
declare ptr @llvm.frameaddress.p0(i32 immarg) #5

; Function Attrs: noinline nounwind
define internal fastcc noundef ptr @found(ptr noundef captures(none) %0, ptr noundef %1) unnamed_addr #3 {
  %3 = alloca [5 x i64], align 16
  call void @llvm.lifetime.start.p0(ptr nonnull %3) #21
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 16 dereferenceable(40) %3, i8 0, i64 40, i1 false)
  %4 = tail call i64 @object_head() #20
  %5 = getelementptr inbounds i8, ptr %1, i64 %4
  %6 = getelementptr inbounds i8, ptr %5, i64 -8
  %7 = load ptr, ptr %6, align 8
  %8 = load ptr, ptr %0, align 8
  %9 = getelementptr inbounds nuw i8, ptr %8, i64 112
  %10 = load ptr, ptr %9, align 8
  %11 = icmp eq ptr %7, %10
  br i1 %11, label %12, label %15

12:                                               ; preds = %2
  %13 = load i64, ptr %5, align 8
  %14 = icmp eq i64 %13, 0
  br i1 %14, label %15, label %19

15:                                               ; preds = %2, %12
  %16 = getelementptr inbounds nuw i8, ptr %8, i64 32
  %17 = load ptr, ptr %16, align 8
  %18 = icmp eq ptr %7, %17
  br i1 %18, label %23, label %137

19:                                               ; preds = %12
  %20 = icmp eq i64 %13, 1
  %21 = icmp sgt i64 %13, 3
  %22 = or i1 %20, %21
  br i1 %22, label %137, label %26

23:                                               ; preds = %15
  %24 = call fastcc i32 @shape_of(ptr noundef nonnull %8, ptr noundef nonnull %1, ptr noundef %3) #22
  %25 = icmp eq i32 %24, 0
  br i1 %25, label %58, label %137

26:                                               ; preds = %19
  %27 = getelementptr i8, ptr %7, i64 %4
  %28 = getelementptr i8, ptr %27, i64 16
  %29 = load i64, ptr %28, align 8
  %30 = getelementptr inbounds i8, ptr %1, i64 %29
  %31 = load ptr, ptr %30, align 8
  %32 = call fastcc i32 @shape_of(ptr noundef nonnull %8, ptr noundef %31, ptr noundef %3) #22
  %33 = icmp eq i32 %32, 0
  br i1 %33, label %34, label %137

34:                                               ; preds = %26
  %35 = load ptr, ptr %0, align 8
  %36 = load ptr, ptr %6, align 8
  %37 = getelementptr i8, ptr %36, i64 %4
  %38 = getelementptr i8, ptr %37, i64 16
  %39 = load i64, ptr %38, align 8
  %40 = getelementptr inbounds i8, ptr %1, i64 %39
  %41 = getelementptr inbounds nuw i8, ptr %40, i64 8
  %42 = load ptr, ptr %41, align 8
  %43 = getelementptr inbounds nuw i8, ptr %3, i64 16
  %44 = call fastcc i32 @shape_of(ptr noundef %35, ptr noundef %42, ptr noundef %43) #22
  %45 = icmp eq i32 %44, 0
  br i1 %45, label %46, label %137

46:                                               ; preds = %34
  %47 = icmp eq i64 %13, 3
  br i1 %47, label %48, label %58

48:                                               ; preds = %46
  %49 = load ptr, ptr %6, align 8
  %50 = getelementptr i8, ptr %49, i64 %4
  %51 = getelementptr i8, ptr %50, i64 16
  %52 = load i64, ptr %51, align 8
  %53 = getelementptr inbounds i8, ptr %1, i64 %52
  %54 = getelementptr inbounds nuw i8, ptr %53, i64 16
  %55 = load ptr, ptr %54, align 8
  %56 = ptrtoint ptr %55 to i64
  %57 = getelementptr inbounds nuw i8, ptr %3, i64 32
  store i64 %56, ptr %57, align 16
  br label %58

58:                                               ; preds = %23, %48, %46
  %59 = tail call i32 @has_lock() #20
  %60 = icmp eq i32 %59, 0
  %61 = getelementptr inbounds nuw i8, ptr %0, i64 8
  br i1 %60, label %64, label %62

62:                                               ; preds = %58
  %63 = load ptr, ptr %61, align 8
  br label %67

64:                                               ; preds = %58
  %65 = load atomic i64, ptr %61 seq_cst, align 8
  %66 = inttoptr i64 %65 to ptr
  br label %67

67:                                               ; preds = %64, %62
  %68 = phi ptr [ %63, %62 ], [ %66, %64 ]
  %69 = load i64, ptr %3, align 16
  %70 = mul i64 %69, -7046029254386353131
  %71 = lshr i64 %70, 29
  %72 = xor i64 %71, %70
  %73 = getelementptr inbounds nuw i8, ptr %3, i64 8
  %74 = load i64, ptr %73, align 8
  %75 = xor i64 %74, %72
  %76 = mul i64 %75, -7046029254386353131
  %77 = lshr i64 %76, 29
  %78 = xor i64 %77, %76
  %79 = getelementptr inbounds nuw i8, ptr %3, i64 16
  %80 = load i64, ptr %79, align 16
  %81 = xor i64 %80, %78
  %82 = mul i64 %81, -7046029254386353131
  %83 = lshr i64 %82, 29
  %84 = xor i64 %83, %82
  %85 = getelementptr inbounds nuw i8, ptr %3, i64 24
  %86 = load i64, ptr %85, align 8
  %87 = xor i64 %86, %84
  %88 = mul i64 %87, -7046029254386353131
  %89 = lshr i64 %88, 29
  %90 = xor i64 %89, %88
  %91 = getelementptr inbounds nuw i8, ptr %3, i64 32
  %92 = load i64, ptr %91, align 16
  %93 = xor i64 %92, %90
  %94 = mul i64 %93, -7046029254386353131
  %95 = lshr i64 %94, 29
  %96 = xor i64 %95, %94
  %97 = getelementptr inbounds nuw i8, ptr %68, i64 64
  %98 = load i64, ptr %68, align 8
  %99 = and i64 %98, %96
  %100 = getelementptr inbounds nuw %struct.subscript_entry, ptr %97, i64 %99
  %101 = getelementptr inbounds nuw i8, ptr %100, i64 40
  %102 = load ptr, ptr %101, align 8
  %103 = icmp eq ptr %102, null
  br i1 %103, label %137, label %111

104:                                              ; preds = %111
  %105 = add i64 %113, 1
  %106 = and i64 %98, %105
  %107 = getelementptr inbounds nuw %struct.subscript_entry, ptr %97, i64 %106
  %108 = getelementptr inbounds nuw i8, ptr %107, i64 40
  %109 = load ptr, ptr %108, align 8
  %110 = icmp eq ptr %109, null
  br i1 %110, label %137, label %111

111:                                              ; preds = %67, %104
  %112 = phi ptr [ %107, %104 ], [ %100, %67 ]
  %113 = phi i64 [ %105, %104 ], [ %96, %67 ]
  %114 = load i64, ptr %112, align 8
  %115 = icmp ne i64 %114, %69
  %116 = getelementptr inbounds nuw i8, ptr %112, i64 8
  %117 = load i64, ptr %116, align 8
  %118 = icmp ne i64 %117, %74
  %119 = getelementptr inbounds nuw i8, ptr %112, i64 16
  %120 = load i64, ptr %119, align 8
  %121 = icmp ne i64 %120, %80
  %122 = getelementptr inbounds nuw i8, ptr %112, i64 24
  %123 = load i64, ptr %122, align 8
  %124 = icmp ne i64 %123, %86
  %125 = getelementptr inbounds nuw i8, ptr %112, i64 32
  %126 = load i64, ptr %125, align 8
  %127 = icmp ne i64 %126, %92
  %128 = select i1 %127, i1 true, i1 %124
  %129 = select i1 %128, i1 true, i1 %121
  %130 = select i1 %129, i1 true, i1 %118
  %131 = select i1 %130, i1 true, i1 %115
  br i1 %131, label %104, label %132

132:                                              ; preds = %111
  %133 = getelementptr inbounds nuw i8, ptr %0, i64 24
  br i1 %60, label %135, label %134

134:                                              ; preds = %132
  store ptr %112, ptr %133, align 8
  br label %137

135:                                              ; preds = %132
  %136 = ptrtoint ptr %112 to i64
  store atomic i64 %136, ptr %133 release, align 8
  br label %137

137:                                              ; preds = %104, %19, %67, %135, %134, %26, %34, %23, %15
  %138 = phi ptr [ null, %15 ], [ null, %19 ], [ null, %34 ], [ null, %23 ], [ null, %26 ], [ %112, %135 ], [ %112, %134 ], [ null, %67 ], [ null, %104 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %3) #21
  ret ptr %138
}

; Function Attrs: mustprogress nofree nosync nounwind willreturn memory(none)
; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn
declare ptr @llvm.stacksave.p0() #6

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn
declare void @llvm.stackrestore.p0(ptr) #6

; Function Attrs: nofree noinline norecurse nounwind memory(argmem: readwrite)
define internal fastcc noundef ptr @place_of(ptr noundef captures(ret: address, provenance) %0, i64 noundef range(i64 0, 281474976710656) %1) unnamed_addr #7 {
  %3 = mul i64 %1, -7046029254386353131
  %4 = lshr i64 %3, 58
  br label %5

5:                                                ; preds = %31, %2
  %6 = phi i64 [ 0, %2 ], [ %32, %31 ]
  %7 = add nuw nsw i64 %6, %4
  %8 = shl nuw nsw i64 %7, 3
  %9 = and i64 %8, 504
  %10 = getelementptr inbounds nuw i64, ptr %0, i64 %9
  %11 = load atomic i64, ptr %10 monotonic, align 8
  %12 = and i64 %11, 1
  %13 = icmp eq i64 %12, 0
  br i1 %13, label %14, label %18

14:                                               ; preds = %5
  %15 = or disjoint i64 %11, 1
  %16 = cmpxchg ptr %10, i64 %11, i64 %15 seq_cst monotonic, align 8
  %17 = extractvalue { i64, i1 } %16, 1
  br i1 %17, label %34, label %18

18:                                               ; preds = %5, %14
  %19 = or disjoint i64 %6, 1
  %20 = add nuw nsw i64 %19, %4
  %21 = shl nuw nsw i64 %20, 3
  %22 = and i64 %21, 504
  %23 = getelementptr inbounds nuw i64, ptr %0, i64 %22
  %24 = load atomic i64, ptr %23 monotonic, align 8
  %25 = and i64 %24, 1
  %26 = icmp eq i64 %25, 0
  br i1 %26, label %27, label %31

27:                                               ; preds = %18
  %28 = or disjoint i64 %24, 1
  %29 = cmpxchg ptr %23, i64 %24, i64 %28 seq_cst monotonic, align 8
  %30 = extractvalue { i64, i1 } %29, 1
  br i1 %30, label %34, label %31

31:                                               ; preds = %27, %18
  %32 = add nuw nsw i64 %6, 2
  %33 = icmp eq i64 %32, 64
  br i1 %33, label %34, label %5, !llvm.loop !34

34:                                               ; preds = %31, %27, %14
  %35 = phi ptr [ %10, %14 ], [ null, %31 ], [ %23, %27 ]
  ret ptr %35
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 2) i32 @are_globals_unchanged(ptr noundef readonly captures(none) %0, ptr noundef captures(none) %1, ptr noundef readonly captures(none) %2, i64 noundef %3) unnamed_addr #3 {
  %5 = alloca [8 x i64], align 16
  %6 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %7 = load i64, ptr %6, align 8
  %8 = icmp eq i64 %7, 0
  br i1 %8, label %50, label %9

9:                                                ; preds = %4
  %10 = tail call i32 @has_lock() #20
  %11 = icmp eq i32 %10, 0
  %12 = getelementptr inbounds nuw i8, ptr %0, i64 384
  %13 = getelementptr inbounds nuw i8, ptr %0, i64 400
  %14 = getelementptr inbounds nuw i8, ptr %0, i64 408
  %15 = getelementptr inbounds nuw i8, ptr %0, i64 264
  %16 = getelementptr inbounds nuw i8, ptr %0, i64 392
  br label %17

17:                                               ; preds = %9, %45
  %18 = phi i64 [ 0, %9 ], [ %46, %45 ]
  %19 = phi ptr [ %2, %9 ], [ %47, %45 ]
  %20 = load ptr, ptr %19, align 8
  %21 = getelementptr inbounds nuw i8, ptr %19, i64 8
  %22 = load ptr, ptr %21, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %5) #21
  br i1 %11, label %23, label %26

23:                                               ; preds = %17
  %24 = load ptr, ptr %12, align 8
  %25 = icmp eq ptr %24, null
  br i1 %25, label %26, label %29

26:                                               ; preds = %23, %17
  %27 = load ptr, ptr %15, align 8
  %28 = call ptr %27(ptr noundef %20, ptr noundef %22) #23
  br label %40

29:                                               ; preds = %23
  call void %24(ptr noundef nonnull %5, ptr noundef %20) #23
  %30 = load ptr, ptr %13, align 8
  %31 = icmp eq ptr %30, null
  br i1 %31, label %36, label %32

32:                                               ; preds = %29
  %33 = load i64, ptr %14, align 8
  %34 = trunc i64 %33 to i32
  %35 = call i32 %30(i32 noundef %34, ptr noundef %20) #23
  br label %36

36:                                               ; preds = %32, %29
  %37 = load ptr, ptr %15, align 8
  %38 = call ptr %37(ptr noundef %20, ptr noundef %22) #23
  %39 = load ptr, ptr %16, align 8
  call void %39(ptr noundef nonnull %5) #23
  br label %40

40:                                               ; preds = %26, %36
  %41 = phi ptr [ %28, %26 ], [ %38, %36 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %5) #21
  %42 = getelementptr inbounds nuw i8, ptr %19, i64 16
  %43 = load ptr, ptr %42, align 8
  %44 = icmp eq ptr %41, %43
  br i1 %44, label %45, label %55

45:                                               ; preds = %40
  %46 = add nuw i64 %18, 1
  %47 = getelementptr inbounds nuw i8, ptr %19, i64 24
  %48 = load i64, ptr %6, align 8
  %49 = icmp ult i64 %46, %48
  br i1 %49, label %17, label %50, !llvm.loop !35

50:                                               ; preds = %45, %4
  %51 = getelementptr inbounds nuw i8, ptr %1, i64 24
  %52 = load i64, ptr %51, align 8
  %53 = or i64 %52, %3
  %54 = getelementptr inbounds nuw i8, ptr %1, i64 16
  store i64 %53, ptr %54, align 8
  br label %55

55:                                               ; preds = %40, %50
  %56 = phi i32 [ 1, %50 ], [ 0, %40 ]
  ret i32 %56
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 5) i32 @arrays(ptr noundef nonnull captures(none) %0) unnamed_addr #3 {
  %2 = alloca i32, align 4
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %4 = load ptr, ptr %3, align 8
  %5 = load ptr, ptr %0, align 8
  %6 = tail call i32 @has_lock() #20
  %7 = icmp eq i32 %6, 0
  %8 = getelementptr inbounds nuw i8, ptr %4, i64 16
  br i1 %7, label %11, label %9

9:                                                ; preds = %1
  %10 = load ptr, ptr %8, align 8
  br label %15

11:                                               ; preds = %1
  %12 = load atomic i64, ptr %8 seq_cst, align 8
  %13 = inttoptr i64 %12 to ptr
  %14 = load ptr, ptr %0, align 8
  br label %15

15:                                               ; preds = %11, %9
  %16 = phi ptr [ %5, %9 ], [ %14, %11 ]
  %17 = phi ptr [ %10, %9 ], [ %13, %11 ]
  %18 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %19 = load ptr, ptr %18, align 8
  %20 = getelementptr inbounds nuw i8, ptr %16, i64 96
  %21 = load i32, ptr %20, align 8
  %22 = zext i32 %21 to i64
  %23 = getelementptr inbounds nuw i8, ptr %19, i64 %22
  %24 = getelementptr inbounds nuw i8, ptr %16, i64 60
  %25 = load i32, ptr %24, align 4
  %26 = zext i32 %25 to i64
  %27 = getelementptr inbounds nuw i8, ptr %19, i64 %26
  %28 = getelementptr inbounds nuw i8, ptr %16, i64 100
  %29 = load i32, ptr %28, align 4
  %30 = zext i32 %29 to i64
  %31 = getelementptr inbounds nuw i8, ptr %23, i64 %30
  %32 = getelementptr inbounds nuw i8, ptr %16, i64 72
  %33 = load i32, ptr %32, align 8
  %34 = zext i32 %33 to i64
  %35 = getelementptr inbounds nuw i8, ptr %23, i64 %34
  %36 = getelementptr inbounds nuw i8, ptr %5, i64 104
  %37 = load i32, ptr %36, align 8
  %38 = zext i32 %37 to i64
  %39 = getelementptr inbounds nuw i8, ptr %23, i64 %38
  %40 = getelementptr inbounds nuw i8, ptr %0, i64 40
  %41 = load ptr, ptr %40, align 8
  %42 = getelementptr inbounds nuw i8, ptr %5, i64 68
  %43 = load i32, ptr %42, align 4
  %44 = icmp ugt i32 %43, 3
  br i1 %44, label %60, label %45

45:                                               ; preds = %60, %15
  %46 = getelementptr inbounds nuw i8, ptr %5, i64 144
  %47 = load ptr, ptr %46, align 8
  %48 = getelementptr inbounds nuw i8, ptr %5, i64 28
  %49 = load i32, ptr %48, align 4
  %50 = zext i32 %49 to i64
  %51 = shl nuw nsw i64 %50, 4
  %52 = getelementptr inbounds nuw i8, ptr %47, i64 %51
  %53 = icmp eq i32 %49, 0
  br i1 %53, label %485, label %54

54:                                               ; preds = %45
  %55 = getelementptr inbounds nuw i8, ptr %4, i64 24
  %56 = getelementptr inbounds nuw i8, ptr %0, i64 48
  %57 = getelementptr inbounds nuw i8, ptr %0, i64 56
  %58 = getelementptr inbounds nuw i8, ptr %4, i64 16
  %59 = getelementptr inbounds nuw i8, ptr %0, i64 60
  br label %67

60:                                               ; preds = %15, %60
  %61 = phi i64 [ %63, %60 ], [ 3, %15 ]
  %62 = getelementptr inbounds nuw i64, ptr %23, i64 %61
  store i64 0, ptr %62, align 8
  %63 = add nuw nsw i64 %61, 1
  %64 = load i32, ptr %42, align 4
  %65 = zext i32 %64 to i64
  %66 = icmp samesign ult i64 %63, %65
  br i1 %66, label %60, label %45, !llvm.loop !36

67:                                               ; preds = %54, %475
  %68 = phi ptr [ %17, %54 ], [ %477, %475 ]
  %69 = phi ptr [ %19, %54 ], [ %479, %475 ]
  %70 = phi ptr [ %35, %54 ], [ %480, %475 ]
  %71 = phi ptr [ %39, %54 ], [ %481, %475 ]
  %72 = phi ptr [ %47, %54 ], [ %478, %475 ]
  %73 = phi i64 [ -1, %54 ], [ %476, %475 ]
  %74 = getelementptr inbounds nuw i8, ptr %72, i64 2
  %75 = load i16, ptr %74, align 2
  %76 = icmp eq i16 %75, -1
  br i1 %76, label %88, label %77

77:                                               ; preds = %67
  %78 = load ptr, ptr %18, align 8
  %79 = load ptr, ptr %0, align 8
  %80 = getelementptr inbounds nuw i8, ptr %79, i64 124
  %81 = load i32, ptr %80, align 4
  %82 = zext i32 %81 to i64
  %83 = getelementptr inbounds nuw i8, ptr %78, i64 %82
  %84 = zext i16 %75 to i64
  %85 = getelementptr inbounds nuw i8, ptr %83, i64 %84
  %86 = load i8, ptr %85, align 1
  %87 = icmp eq i8 %86, 0
  br i1 %87, label %475, label %88, !prof !37

88:                                               ; preds = %67, %77
  %89 = load i16, ptr %72, align 8
  %90 = zext i16 %89 to i64
  %91 = getelementptr inbounds nuw ptr, ptr %41, i64 %90
  %92 = load ptr, ptr %91, align 8
  %93 = load ptr, ptr %68, align 8
  %94 = tail call i64 @object_head() #20
  %95 = getelementptr inbounds i8, ptr %92, i64 %94
  %96 = getelementptr inbounds i8, ptr %95, i64 -8
  %97 = load ptr, ptr %96, align 8
  %98 = icmp eq ptr %93, %97
  br i1 %98, label %99, label %200, !prof !4

99:                                               ; preds = %88
  %100 = getelementptr inbounds nuw i8, ptr %68, i64 8
  %101 = load i64, ptr %100, align 8
  %102 = icmp eq i64 %101, 6
  br i1 %102, label %103, label %200, !prof !4

103:                                              ; preds = %99
  %104 = load ptr, ptr %55, align 8
  %105 = load i64, ptr %104, align 8
  %106 = getelementptr inbounds nuw i8, ptr %92, i64 %105
  %107 = load ptr, ptr %106, align 8
  %108 = getelementptr inbounds nuw i8, ptr %104, i64 8
  %109 = load i64, ptr %108, align 8
  %110 = getelementptr inbounds nuw i8, ptr %107, i64 %109
  %111 = load i64, ptr %110, align 8
  %112 = getelementptr inbounds nuw i8, ptr %104, i64 72
  %113 = load i64, ptr %112, align 8
  %114 = icmp eq i64 %111, %113
  br i1 %114, label %119, label %115

115:                                              ; preds = %103
  %116 = getelementptr inbounds nuw i8, ptr %104, i64 80
  %117 = load i64, ptr %116, align 8
  %118 = icmp eq i64 %111, %117
  br i1 %118, label %119, label %200, !prof !4

119:                                              ; preds = %115, %103
  %120 = getelementptr inbounds nuw i8, ptr %104, i64 16
  %121 = load i64, ptr %120, align 8
  %122 = getelementptr inbounds nuw i8, ptr %107, i64 %121
  %123 = load i64, ptr %122, align 8
  %124 = getelementptr inbounds nuw i8, ptr %104, i64 48
  %125 = load i64, ptr %124, align 8
  %126 = getelementptr inbounds nuw i8, ptr %107, i64 %125
  %127 = load i16, ptr %126, align 2
  %128 = icmp ugt i64 %123, 5
  %129 = icmp ugt i16 %127, 63
  %130 = select i1 %128, i1 true, i1 %129, !prof !5
  br i1 %130, label %200, label %131, !prof !5

131:                                              ; preds = %119
  %132 = zext nneg i16 %127 to i64
  %133 = getelementptr inbounds nuw i8, ptr %104, i64 88
  %134 = getelementptr inbounds nuw i32, ptr %133, i64 %132
  %135 = load i32, ptr %134, align 4
  %136 = getelementptr inbounds nuw i8, ptr %104, i64 32
  %137 = load i64, ptr %136, align 8
  %138 = getelementptr inbounds nuw i8, ptr %107, i64 %137
  %139 = load ptr, ptr %138, align 8
  %140 = getelementptr inbounds nuw i8, ptr %104, i64 56
  %141 = load i64, ptr %140, align 8
  %142 = getelementptr inbounds nuw i8, ptr %139, i64 %141
  %143 = load i64, ptr %142, align 8
  %144 = getelementptr inbounds nuw i8, ptr %104, i64 40
  %145 = load i64, ptr %144, align 8
  %146 = getelementptr inbounds nuw i8, ptr %107, i64 %145
  %147 = icmp ne i32 %135, 0
  %148 = icmp ne i64 %143, 0
  %149 = select i1 %147, i1 %148, i1 false, !prof !38
  br i1 %149, label %150, label %200, !prof !38

150:                                              ; preds = %131
  %151 = getelementptr inbounds nuw i8, ptr %104, i64 64
  %152 = load i64, ptr %151, align 8
  %153 = getelementptr inbounds nuw i8, ptr %139, i64 %152
  %154 = load i64, ptr %153, align 8
  %155 = icmp eq i64 %143, %154
  br i1 %155, label %156, label %200, !prof !4

156:                                              ; preds = %150
  %157 = load i8, ptr %146, align 1
  %158 = icmp eq i8 %157, 1
  br i1 %158, label %159, label %200, !prof !4

159:                                              ; preds = %156
  %160 = getelementptr inbounds nuw i8, ptr %104, i64 24
  %161 = load i64, ptr %160, align 8
  %162 = getelementptr inbounds nuw i8, ptr %107, i64 %161
  %163 = load i64, ptr %162, align 8
  %164 = lshr i32 %135, 11
  %165 = and i32 %164, 31
  %166 = zext nneg i32 %165 to i64
  %167 = mul i64 %163, %166
  %168 = add i64 %167, %143
  %169 = getelementptr inbounds nuw i8, ptr %146, i64 1
  %170 = load i8, ptr %169, align 1
  %171 = zext i8 %170 to i32
  %172 = trunc nuw nsw i64 %123 to i32
  %173 = getelementptr inbounds nuw i8, ptr %122, i64 8
  %174 = getelementptr inbounds nuw i8, ptr %122, i64 48
  %175 = load ptr, ptr %56, align 8
  %176 = icmp eq ptr %175, null
  br i1 %176, label %177, label %180, !prof !5

177:                                              ; preds = %159
  %178 = getelementptr inbounds nuw i8, ptr %68, i64 24
  %179 = load ptr, ptr %178, align 8
  store ptr %179, ptr %56, align 8
  store i32 %171, ptr %57, align 8
  br label %180

180:                                              ; preds = %177, %159
  %181 = getelementptr inbounds nuw i8, ptr %72, i64 4
  %182 = load i32, ptr %181, align 4
  %183 = icmp eq i32 %182, 0
  br i1 %183, label %241, label %184, !prof !4

184:                                              ; preds = %180
  %185 = load ptr, ptr %18, align 8
  %186 = load ptr, ptr %0, align 8
  %187 = getelementptr inbounds nuw i8, ptr %186, i64 108
  %188 = load i32, ptr %187, align 4
  %189 = zext i32 %188 to i64
  %190 = getelementptr inbounds nuw i8, ptr %185, i64 %189
  %191 = load ptr, ptr %46, align 8
  %192 = ptrtoint ptr %72 to i64
  %193 = ptrtoint ptr %191 to i64
  %194 = sub i64 %192, %193
  %195 = ashr exact i64 %194, 4
  %196 = getelementptr inbounds %struct.tensor, ptr %190, i64 %195
  %197 = getelementptr inbounds nuw i8, ptr %196, i64 16
  store i32 %172, ptr %197, align 8
  %198 = getelementptr inbounds nuw i8, ptr %196, i64 24
  store ptr %173, ptr %198, align 8
  %199 = getelementptr inbounds nuw i8, ptr %196, i64 32
  store ptr %174, ptr %199, align 8
  br label %241

200:                                              ; preds = %150, %131, %156, %119, %115, %88, %99
  %201 = load ptr, ptr %18, align 8
  %202 = load ptr, ptr %0, align 8
  %203 = getelementptr inbounds nuw i8, ptr %202, i64 108
  %204 = load i32, ptr %203, align 4
  %205 = zext i32 %204 to i64
  %206 = getelementptr inbounds nuw i8, ptr %201, i64 %205
  %207 = load ptr, ptr %46, align 8
  %208 = ptrtoint ptr %72 to i64
  %209 = ptrtoint ptr %207 to i64
  %210 = sub i64 %208, %209
  %211 = ashr exact i64 %210, 4
  %212 = getelementptr inbounds %struct.tensor, ptr %206, i64 %211
  %213 = tail call fastcc i32 @read_array(ptr noundef %0, ptr noundef nonnull %92, ptr noundef %212) #22
  br i1 %7, label %216, label %214

214:                                              ; preds = %200
  %215 = load ptr, ptr %58, align 8
  br label %219

216:                                              ; preds = %200
  %217 = load atomic i64, ptr %58 seq_cst, align 8
  %218 = inttoptr i64 %217 to ptr
  br label %219

219:                                              ; preds = %216, %214
  %220 = phi ptr [ %215, %214 ], [ %218, %216 ]
  switch i32 %213, label %488 [
    i32 4, label %221
    i32 0, label %222
  ]

221:                                              ; preds = %219
  store i32 1, ptr %59, align 4
  br label %475

222:                                              ; preds = %219
  %223 = getelementptr inbounds nuw i8, ptr %212, i64 8
  %224 = load i32, ptr %223, align 8
  switch i32 %224, label %488 [
    i32 2, label %225
    i32 13, label %225
  ]

225:                                              ; preds = %222, %222
  %226 = load i64, ptr %212, align 8
  %227 = getelementptr inbounds nuw i8, ptr %212, i64 40
  %228 = load i64, ptr %227, align 8
  %229 = add i64 %228, %226
  %230 = getelementptr inbounds nuw i8, ptr %212, i64 12
  %231 = load i32, ptr %230, align 4
  %232 = getelementptr inbounds nuw i8, ptr %212, i64 16
  %233 = load i32, ptr %232, align 8
  %234 = getelementptr inbounds nuw i8, ptr %212, i64 20
  %235 = load i32, ptr %234, align 4
  %236 = getelementptr inbounds nuw i8, ptr %212, i64 24
  %237 = load ptr, ptr %236, align 8
  %238 = getelementptr inbounds nuw i8, ptr %212, i64 32
  %239 = load ptr, ptr %238, align 8
  %240 = icmp eq i64 %229, 0
  br i1 %240, label %488, label %241

241:                                              ; preds = %225, %180, %184
  %242 = phi ptr [ %239, %225 ], [ %174, %180 ], [ %174, %184 ]
  %243 = phi ptr [ %237, %225 ], [ %173, %180 ], [ %173, %184 ]
  %244 = phi i32 [ %235, %225 ], [ %135, %180 ], [ %135, %184 ]
  %245 = phi i32 [ %233, %225 ], [ %172, %180 ], [ %172, %184 ]
  %246 = phi i32 [ %231, %225 ], [ %171, %180 ], [ %171, %184 ]
  %247 = phi i64 [ %229, %225 ], [ %168, %180 ], [ %168, %184 ]
  %248 = phi ptr [ %220, %225 ], [ %68, %180 ], [ %68, %184 ]
  %249 = getelementptr inbounds nuw i8, ptr %72, i64 8
  %250 = load ptr, ptr %249, align 8
  %251 = zext i32 %246 to i64
  %252 = icmp eq i64 %73, %251
  br i1 %252, label %255, label %253, !prof !4

253:                                              ; preds = %241
  %254 = icmp eq i64 %73, -1
  br i1 %254, label %255, label %488

255:                                              ; preds = %253, %241
  store i64 %247, ptr %69, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %2) #21
  %256 = getelementptr inbounds nuw i8, ptr %250, i64 8
  %257 = load i32, ptr %256, align 8
  store i32 %257, ptr %2, align 4
  %258 = load i32, ptr %250, align 8
  %259 = icmp eq i32 %244, %258
  br i1 %259, label %275, label %260, !prof !4

260:                                              ; preds = %255
  %261 = icmp eq i32 %258, 0
  br i1 %261, label %262, label %483

262:                                              ; preds = %260
  %263 = load ptr, ptr %18, align 8
  %264 = load ptr, ptr %0, align 8
  %265 = getelementptr inbounds nuw i8, ptr %264, i64 96
  %266 = load i32, ptr %265, align 8
  %267 = zext i32 %266 to i64
  %268 = getelementptr inbounds nuw i8, ptr %263, i64 %267
  %269 = getelementptr inbounds nuw i8, ptr %250, i64 4
  %270 = load i32, ptr %269, align 4
  %271 = zext i32 %270 to i64
  %272 = getelementptr inbounds nuw i64, ptr %268, i64 %271
  %273 = call fastcc i32 @is_of_variable(ptr noundef %272, i32 noundef %244, ptr noundef %2) #22
  %274 = icmp eq i32 %273, 0
  br i1 %274, label %275, label %483

275:                                              ; preds = %262, %255
  %276 = getelementptr inbounds nuw i8, ptr %250, i64 16
  %277 = load i32, ptr %276, align 8
  %278 = icmp eq i32 %245, %277
  br i1 %278, label %286, label %279, !prof !4

279:                                              ; preds = %275
  %280 = getelementptr inbounds nuw i8, ptr %250, i64 20
  %281 = load i32, ptr %280, align 4
  %282 = icmp eq i32 %281, 3
  br i1 %282, label %283, label %483

283:                                              ; preds = %279
  %284 = tail call fastcc i32 @fit_nested(ptr noundef nonnull %250, i32 noundef %245, ptr noundef %243, ptr noundef %242, ptr noundef %71) #22
  %285 = icmp eq i32 %284, 0
  br i1 %285, label %459, label %483

286:                                              ; preds = %275
  %287 = getelementptr inbounds nuw i8, ptr %250, i64 32
  %288 = load ptr, ptr %287, align 8
  %289 = zext i32 %245 to i64
  %290 = shl nuw nsw i64 %289, 4
  %291 = getelementptr inbounds nuw i8, ptr %288, i64 %290
  %292 = icmp eq i32 %245, 0
  br i1 %292, label %359, label %293

293:                                              ; preds = %286, %340
  %294 = phi ptr [ %351, %340 ], [ %288, %286 ]
  %295 = phi i32 [ %349, %340 ], [ 0, %286 ]
  %296 = phi i64 [ %350, %340 ], [ 1, %286 ]
  %297 = getelementptr inbounds nuw i8, ptr %294, i64 4
  %298 = load i32, ptr %297, align 4
  %299 = zext i32 %298 to i64
  %300 = getelementptr inbounds nuw i64, ptr %243, i64 %299
  %301 = load i64, ptr %300, align 8
  %302 = getelementptr inbounds nuw i8, ptr %294, i64 8
  %303 = load i64, ptr %302, align 8
  %304 = load i32, ptr %294, align 8
  switch i32 %304, label %307 [
    i32 0, label %305
    i32 1, label %308
  ], !prof !39

305:                                              ; preds = %293
  %306 = icmp eq i64 %301, %303
  br i1 %306, label %340, label %484

307:                                              ; preds = %293
  tail call fastcc void @put_off(ptr noundef nonnull %0, ptr noundef nonnull %294, i64 noundef %301, i32 noundef 1) #22
  br label %340

308:                                              ; preds = %293
  %309 = shl i64 %303, 1
  %310 = getelementptr inbounds nuw i8, ptr %31, i64 %309
  %311 = load i8, ptr %310, align 1
  %312 = icmp eq i8 %311, 0
  br i1 %312, label %313, label %336

313:                                              ; preds = %308
  %314 = load ptr, ptr %0, align 8
  %315 = getelementptr inbounds nuw i8, ptr %314, i64 168
  %316 = load ptr, ptr %315, align 8
  %317 = getelementptr inbounds nuw %struct.dim_row, ptr %316, i64 %303
  %318 = load i64, ptr %317, align 8
  %319 = icmp slt i64 %301, %318
  br i1 %319, label %484, label %320

320:                                              ; preds = %313
  %321 = getelementptr inbounds nuw i8, ptr %317, i64 8
  %322 = load i64, ptr %321, align 8
  %323 = icmp sgt i64 %301, %322
  br i1 %323, label %484, label %324

324:                                              ; preds = %320
  %325 = getelementptr inbounds nuw i8, ptr %317, i64 16
  %326 = load i64, ptr %325, align 8
  %327 = icmp sgt i64 %326, 1
  br i1 %327, label %328, label %331

328:                                              ; preds = %324
  %329 = srem i64 %301, %326
  %330 = icmp eq i64 %329, 0
  br i1 %330, label %331, label %484

331:                                              ; preds = %324, %328
  %332 = getelementptr inbounds nuw i64, ptr %27, i64 %303
  store i64 %301, ptr %332, align 8
  store i8 1, ptr %310, align 1
  %333 = icmp sgt i64 %301, 2147418112
  %334 = zext i1 %333 to i8
  %335 = getelementptr inbounds nuw i8, ptr %310, i64 1
  store i8 %334, ptr %335, align 1
  br label %340

336:                                              ; preds = %308
  %337 = getelementptr inbounds nuw i64, ptr %27, i64 %303
  %338 = load i64, ptr %337, align 8
  %339 = icmp eq i64 %338, %301
  br i1 %339, label %340, label %484

340:                                              ; preds = %305, %331, %307, %336
  %341 = load i32, ptr %297, align 4
  %342 = zext i32 %341 to i64
  %343 = getelementptr inbounds nuw i64, ptr %242, i64 %342
  %344 = load i64, ptr %343, align 8
  %345 = icmp ne i64 %344, %296
  %346 = icmp sgt i64 %301, 1
  %347 = and i1 %346, %345
  %348 = zext i1 %347 to i32
  %349 = or i32 %295, %348
  %350 = mul i64 %301, %296
  %351 = getelementptr inbounds nuw i8, ptr %294, i64 16
  %352 = icmp ult ptr %351, %291
  br i1 %352, label %293, label %353, !llvm.loop !40

353:                                              ; preds = %340
  %354 = icmp sgt i64 %350, 1073741824
  %355 = zext i1 %354 to i8
  store i8 %355, ptr %71, align 1
  %356 = getelementptr inbounds nuw i8, ptr %250, i64 20
  %357 = load i32, ptr %356, align 4
  %358 = icmp eq i32 %357, 2
  br i1 %358, label %378, label %363, !prof !5

359:                                              ; preds = %286
  store i8 0, ptr %71, align 1
  %360 = getelementptr inbounds nuw i8, ptr %250, i64 20
  %361 = load i32, ptr %360, align 4
  %362 = icmp eq i32 %361, 2
  br i1 %362, label %378, label %459, !prof !5

363:                                              ; preds = %353
  %364 = icmp eq i32 %349, 0
  br i1 %364, label %459, label %365, !prof !41

365:                                              ; preds = %363
  %366 = load i32, ptr %276, align 8
  %367 = icmp eq i32 %366, 0
  br i1 %367, label %484, label %368

368:                                              ; preds = %365
  %369 = zext i32 %366 to i64
  br label %373

370:                                              ; preds = %373
  %371 = add nuw nsw i64 %374, 1
  %372 = icmp eq i64 %371, %369
  br i1 %372, label %484, label %373, !llvm.loop !42

373:                                              ; preds = %368, %370
  %374 = phi i64 [ 0, %368 ], [ %371, %370 ]
  %375 = getelementptr inbounds nuw i64, ptr %243, i64 %374
  %376 = load i64, ptr %375, align 8
  %377 = icmp eq i64 %376, 0
  br i1 %377, label %459, label %370

378:                                              ; preds = %359, %353
  %379 = phi ptr [ %288, %359 ], [ %351, %353 ]
  %380 = load i32, ptr %276, align 8
  %381 = icmp eq i32 %380, 0
  br i1 %381, label %392, label %382

382:                                              ; preds = %378
  %383 = zext i32 %380 to i64
  br label %384

384:                                              ; preds = %384, %382
  %385 = phi i64 [ 0, %382 ], [ %389, %384 ]
  %386 = getelementptr inbounds nuw i64, ptr %243, i64 %385
  %387 = load i64, ptr %386, align 8
  %388 = icmp eq i64 %387, 0
  %389 = add nuw nsw i64 %385, 1
  %390 = icmp eq i64 %389, %383
  %391 = select i1 %388, i1 true, i1 %390
  br i1 %391, label %392, label %384, !llvm.loop !42

392:                                              ; preds = %384, %378
  %393 = phi i64 [ 0, %378 ], [ %383, %384 ]
  %394 = phi i1 [ false, %378 ], [ %388, %384 ]
  %395 = getelementptr inbounds nuw %struct.rule, ptr %291, i64 %393
  %396 = icmp ult ptr %379, %395
  br i1 %396, label %397, label %459

397:                                              ; preds = %392, %456
  %398 = phi ptr [ %457, %456 ], [ %379, %392 ]
  %399 = getelementptr inbounds nuw i8, ptr %398, i64 4
  %400 = load i32, ptr %399, align 4
  %401 = zext i32 %400 to i64
  %402 = getelementptr inbounds nuw i64, ptr %242, i64 %401
  %403 = load i64, ptr %402, align 8
  br i1 %394, label %412, label %404

404:                                              ; preds = %397
  %405 = getelementptr inbounds nuw i64, ptr %243, i64 %401
  %406 = load i64, ptr %405, align 8
  %407 = icmp sgt i64 %406, 1
  %408 = getelementptr inbounds nuw i8, ptr %398, i64 8
  %409 = load i64, ptr %408, align 8
  %410 = load i32, ptr %398, align 8
  %411 = icmp eq i32 %410, 0
  br i1 %411, label %415, label %418

412:                                              ; preds = %397
  %413 = load i32, ptr %398, align 8
  %414 = icmp eq i32 %413, 0
  br i1 %414, label %456, label %422

415:                                              ; preds = %404
  %416 = icmp ne i64 %403, %409
  %417 = select i1 %407, i1 %416, i1 false
  br i1 %417, label %484, label %456

418:                                              ; preds = %404
  %419 = zext i1 %407 to i32
  %420 = icmp eq i32 %410, 1
  %421 = and i1 %407, %420
  br i1 %421, label %424, label %422, !prof !43

422:                                              ; preds = %412, %418
  %423 = phi i32 [ %419, %418 ], [ 0, %412 ]
  tail call fastcc void @put_off(ptr noundef nonnull %0, ptr noundef nonnull %398, i64 noundef %403, i32 noundef range(i32 0, 2) %423) #22
  br label %456

424:                                              ; preds = %418
  %425 = shl i64 %409, 1
  %426 = getelementptr inbounds nuw i8, ptr %31, i64 %425
  %427 = load i8, ptr %426, align 1
  %428 = icmp eq i8 %427, 0
  br i1 %428, label %433, label %429

429:                                              ; preds = %424
  %430 = getelementptr inbounds nuw i64, ptr %27, i64 %409
  %431 = load i64, ptr %430, align 8
  %432 = icmp eq i64 %431, %403
  br i1 %432, label %456, label %484

433:                                              ; preds = %424
  %434 = load ptr, ptr %0, align 8
  %435 = getelementptr inbounds nuw i8, ptr %434, i64 168
  %436 = load ptr, ptr %435, align 8
  %437 = getelementptr inbounds nuw %struct.dim_row, ptr %436, i64 %409
  %438 = load i64, ptr %437, align 8
  %439 = icmp slt i64 %403, %438
  br i1 %439, label %484, label %440

440:                                              ; preds = %433
  %441 = getelementptr inbounds nuw i8, ptr %437, i64 8
  %442 = load i64, ptr %441, align 8
  %443 = icmp sgt i64 %403, %442
  br i1 %443, label %484, label %444

444:                                              ; preds = %440
  %445 = getelementptr inbounds nuw i8, ptr %437, i64 16
  %446 = load i64, ptr %445, align 8
  %447 = icmp sgt i64 %446, 1
  br i1 %447, label %448, label %451

448:                                              ; preds = %444
  %449 = srem i64 %403, %446
  %450 = icmp eq i64 %449, 0
  br i1 %450, label %451, label %484

451:                                              ; preds = %444, %448
  %452 = getelementptr inbounds nuw i64, ptr %27, i64 %409
  store i64 %403, ptr %452, align 8
  store i8 1, ptr %426, align 1
  %453 = icmp sgt i64 %403, 2147418112
  %454 = zext i1 %453 to i8
  %455 = getelementptr inbounds nuw i8, ptr %426, i64 1
  store i8 %454, ptr %455, align 1
  br label %456

456:                                              ; preds = %415, %429, %412, %451, %422
  %457 = getelementptr inbounds nuw i8, ptr %398, i64 16
  %458 = icmp ult ptr %457, %395
  br i1 %458, label %397, label %459, !llvm.loop !44

459:                                              ; preds = %373, %456, %359, %392, %363, %283
  %460 = getelementptr inbounds nuw i8, ptr %250, i64 12
  %461 = load i32, ptr %460, align 4
  %462 = icmp eq i32 %461, 0
  %463 = load i32, ptr %2, align 4
  %464 = select i1 %462, i32 %463, i32 %461
  %465 = add i32 %464, -1
  %466 = zext i32 %465 to i64
  %467 = and i64 %247, %466
  br i1 %462, label %468, label %472, !prof !4

468:                                              ; preds = %459
  %469 = and i64 %247, 15
  %470 = icmp eq i64 %469, 0
  %471 = zext i1 %470 to i8
  store i8 %471, ptr %70, align 1
  br label %472

472:                                              ; preds = %468, %459
  %473 = icmp eq i64 %467, 0
  br i1 %473, label %474, label %484, !prof !4

474:                                              ; preds = %472
  call void @llvm.lifetime.end.p0(ptr nonnull %2) #21
  br label %475

475:                                              ; preds = %221, %474, %77
  %476 = phi i64 [ %73, %221 ], [ %251, %474 ], [ %73, %77 ]
  %477 = phi ptr [ %220, %221 ], [ %248, %474 ], [ %68, %77 ]
  %478 = getelementptr inbounds nuw i8, ptr %72, i64 16
  %479 = getelementptr inbounds nuw i8, ptr %69, i64 8
  %480 = getelementptr inbounds nuw i8, ptr %70, i64 1
  %481 = getelementptr inbounds nuw i8, ptr %71, i64 1
  %482 = icmp ult ptr %478, %52
  br i1 %482, label %67, label %485, !llvm.loop !45

483:                                              ; preds = %283, %260, %279, %262
  call void @llvm.lifetime.end.p0(ptr nonnull %2) #21
  br label %488

484:                                              ; preds = %365, %472, %336, %328, %320, %313, %305, %370, %448, %440, %433, %429, %415
  call void @llvm.lifetime.end.p0(ptr nonnull %2) #21
  br label %488

485:                                              ; preds = %475, %45
  %486 = phi i64 [ -1, %45 ], [ %476, %475 ]
  %487 = getelementptr inbounds nuw i8, ptr %23, i64 16
  store i64 %486, ptr %487, align 8
  br label %488

488:                                              ; preds = %225, %219, %222, %253, %484, %483, %485
  %489 = phi i32 [ 0, %485 ], [ 1, %484 ], [ 1, %483 ], [ 1, %225 ], [ %213, %219 ], [ 1, %222 ], [ 1, %253 ]
  ret i32 %489
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 5) i32 @read_others(ptr noundef nonnull captures(none) %0, ptr noundef readonly captures(none) %1) unnamed_addr #3 {
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %4 = load ptr, ptr %3, align 8
  %5 = load ptr, ptr %0, align 8
  %6 = getelementptr inbounds nuw i8, ptr %5, i64 28
  %7 = load i32, ptr %6, align 4
  %8 = add i32 %7, 2
  %9 = zext i32 %8 to i64
  %10 = alloca ptr, i64 %9, align 16
  %11 = getelementptr inbounds nuw i8, ptr %4, i64 152
  %12 = load ptr, ptr %11, align 8
  %13 = getelementptr inbounds nuw i8, ptr %1, i64 12
  %14 = load i32, ptr %13, align 4
  %15 = and i32 %14, 2
  %16 = icmp eq i32 %15, 0
  br i1 %16, label %21, label %17

17:                                               ; preds = %2
  %18 = getelementptr inbounds nuw i8, ptr %1, i64 24
  %19 = load ptr, ptr %18, align 8
  %20 = ptrtoint ptr %19 to i64
  br label %21

21:                                               ; preds = %2, %17
  %22 = phi i64 [ %20, %17 ], [ -1, %2 ]
  %23 = tail call ptr %12(i64 noundef %22) #23
  store ptr %23, ptr %10, align 16
  %24 = load ptr, ptr %11, align 8
  %25 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %26 = load ptr, ptr %25, align 8
  %27 = load ptr, ptr %0, align 8
  %28 = getelementptr inbounds nuw i8, ptr %27, i64 108
  %29 = load i32, ptr %28, align 4
  %30 = zext i32 %29 to i64
  %31 = getelementptr inbounds nuw i8, ptr %26, i64 %30
  %32 = ptrtoint ptr %31 to i64
  %33 = tail call ptr %24(i64 noundef %32) #23
  %34 = getelementptr inbounds nuw i8, ptr %10, i64 8
  store ptr %33, ptr %34, align 8
  %35 = icmp eq i32 %7, 0
  br i1 %35, label %44, label %36

36:                                               ; preds = %21
  %37 = load ptr, ptr %0, align 8
  %38 = getelementptr inbounds nuw i8, ptr %37, i64 144
  %39 = getelementptr inbounds nuw i8, ptr %37, i64 124
  %40 = getelementptr inbounds nuw i8, ptr %4, i64 96
  %41 = getelementptr inbounds nuw i8, ptr %0, i64 40
  %42 = zext i32 %7 to i64
  %43 = load ptr, ptr %38, align 8
  br label %60

44:                                               ; preds = %80, %21
  %45 = getelementptr inbounds nuw i8, ptr %4, i64 224
  %46 = load ptr, ptr %45, align 8
  %47 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %48 = load ptr, ptr %47, align 8
  %49 = getelementptr inbounds nuw i8, ptr %48, i64 64
  %50 = load ptr, ptr %49, align 8
  %51 = call ptr %46(ptr noundef %50, ptr noundef nonnull %10, i64 noundef %9, ptr noundef null) #23
  %52 = getelementptr inbounds nuw i8, ptr %0, i64 72
  store ptr %51, ptr %52, align 8
  %53 = getelementptr inbounds nuw i8, ptr %4, i64 192
  %54 = load ptr, ptr %53, align 8
  %55 = load ptr, ptr %10, align 16
  call void %54(ptr noundef %55) #23
  %56 = load ptr, ptr %53, align 8
  %57 = load ptr, ptr %34, align 8
  call void %56(ptr noundef %57) #23
  %58 = load ptr, ptr %52, align 8
  %59 = icmp eq ptr %58, null
  br i1 %59, label %88, label %90

60:                                               ; preds = %36, %80
  %61 = phi i64 [ 0, %36 ], [ %86, %80 ]
  %62 = getelementptr inbounds nuw %struct.array_row, ptr %43, i64 %61
  %63 = getelementptr inbounds nuw i8, ptr %62, i64 2
  %64 = load i16, ptr %63, align 2
  %65 = icmp eq i16 %64, -1
  br i1 %65, label %75, label %66

66:                                               ; preds = %60
  %67 = load ptr, ptr %25, align 8
  %68 = load i32, ptr %39, align 4
  %69 = zext i32 %68 to i64
  %70 = getelementptr inbounds nuw i8, ptr %67, i64 %69
  %71 = zext i16 %64 to i64
  %72 = getelementptr inbounds nuw i8, ptr %70, i64 %71
  %73 = load i8, ptr %72, align 1
  %74 = icmp eq i8 %73, 0
  br i1 %74, label %80, label %75

75:                                               ; preds = %60, %66
  %76 = load ptr, ptr %41, align 8
  %77 = load i16, ptr %62, align 8
  %78 = zext i16 %77 to i64
  %79 = getelementptr inbounds nuw ptr, ptr %76, i64 %78
  br label %80

80:                                               ; preds = %66, %75
  %81 = phi ptr [ %79, %75 ], [ %40, %66 ]
  %82 = load ptr, ptr %81, align 8
  %83 = add nuw i64 %61, 2
  %84 = and i64 %83, 4294967295
  %85 = getelementptr inbounds nuw ptr, ptr %10, i64 %84
  store ptr %82, ptr %85, align 8
  %86 = add nuw nsw i64 %61, 1
  %87 = icmp eq i64 %86, %42
  br i1 %87, label %44, label %60, !llvm.loop !46

88:                                               ; preds = %44
  %89 = call fastcc i32 @failed(ptr noundef nonnull %4) #22
  br label %124

90:                                               ; preds = %44
  %91 = getelementptr inbounds nuw i8, ptr %4, i64 144
  %92 = load ptr, ptr %91, align 8
  %93 = getelementptr inbounds nuw i8, ptr %4, i64 200
  %94 = load ptr, ptr %93, align 8
  %95 = call ptr %94(ptr noundef nonnull %58, i64 noundef 0) #23
  %96 = call ptr %92(ptr noundef %95) #23
  %97 = getelementptr inbounds nuw i8, ptr %0, i64 80
  store ptr %96, ptr %97, align 8
  %98 = getelementptr inbounds nuw i8, ptr %0, i64 64
  store i32 1, ptr %98, align 8
  %99 = getelementptr inbounds nuw i8, ptr %0, i64 16
  store i32 0, ptr %99, align 8
  %100 = load ptr, ptr %0, align 8
  %101 = getelementptr inbounds nuw i8, ptr %100, i64 40
  %102 = load i32, ptr %101, align 8
  %103 = icmp eq i32 %102, 0
  br i1 %103, label %104, label %106

104:                                              ; preds = %106, %90
  %105 = call fastcc i32 @arrays(ptr noundef %0) #22
  br label %124

106:                                              ; preds = %90, %106
  %107 = phi i64 [ %118, %106 ], [ 0, %90 ]
  %108 = phi ptr [ %119, %106 ], [ %100, %90 ]
  %109 = load ptr, ptr %25, align 8
  %110 = getelementptr inbounds nuw i8, ptr %108, i64 116
  %111 = load i32, ptr %110, align 4
  %112 = zext i32 %111 to i64
  %113 = getelementptr inbounds nuw i8, ptr %109, i64 %112
  %114 = shl nuw nsw i64 %107, 1
  %115 = and i64 %114, 4294967294
  %116 = getelementptr inbounds nuw i64, ptr %113, i64 %115
  %117 = getelementptr inbounds nuw i8, ptr %116, i64 8
  store i64 0, ptr %117, align 8
  %118 = add nuw nsw i64 %107, 1
  %119 = load ptr, ptr %0, align 8
  %120 = getelementptr inbounds nuw i8, ptr %119, i64 40
  %121 = load i32, ptr %120, align 8
  %122 = zext i32 %121 to i64
  %123 = icmp samesign ult i64 %118, %122
  br i1 %123, label %106, label %104, !llvm.loop !47

124:                                              ; preds = %104, %88
  %125 = phi i32 [ %105, %104 ], [ %89, %88 ]
  ret i32 %125
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 4) i32 @constants(ptr noundef nonnull readonly captures(none) %0) unnamed_addr #3 {
  %2 = load ptr, ptr %0, align 8
  %3 = getelementptr inbounds nuw i8, ptr %2, i64 36
  %4 = load i32, ptr %3, align 4
  %5 = icmp eq i32 %4, 0
  br i1 %5, label %107, label %6

6:                                                ; preds = %1
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %10 = getelementptr inbounds nuw i8, ptr %0, i64 40
  %11 = getelementptr inbounds nuw i8, ptr %8, i64 320
  %12 = getelementptr inbounds nuw i8, ptr %8, i64 96
  %13 = getelementptr inbounds nuw i8, ptr %8, i64 56
  %14 = getelementptr inbounds nuw i8, ptr %8, i64 32
  %15 = getelementptr inbounds nuw i8, ptr %8, i64 48
  %16 = getelementptr inbounds nuw i8, ptr %8, i64 40
  %17 = getelementptr inbounds nuw i8, ptr %8, i64 120
  %18 = getelementptr inbounds nuw i8, ptr %8, i64 160
  %19 = getelementptr inbounds nuw i8, ptr %8, i64 168
  br label %20

20:                                               ; preds = %6, %100
  %21 = phi i64 [ 0, %6 ], [ %101, %100 ]
  %22 = phi ptr [ %2, %6 ], [ %102, %100 ]
  %23 = getelementptr inbounds nuw i8, ptr %22, i64 160
  %24 = load ptr, ptr %23, align 8
  %25 = getelementptr inbounds nuw %struct.constant_row, ptr %24, i64 %21
  %26 = getelementptr inbounds nuw i8, ptr %25, i64 2
  %27 = load i16, ptr %26, align 2
  %28 = icmp eq i16 %27, -1
  %29 = load ptr, ptr %9, align 8
  br i1 %28, label %39, label %30

30:                                               ; preds = %20
  %31 = getelementptr inbounds nuw i8, ptr %22, i64 124
  %32 = load i32, ptr %31, align 4
  %33 = zext i32 %32 to i64
  %34 = getelementptr inbounds nuw i8, ptr %29, i64 %33
  %35 = zext i16 %27 to i64
  %36 = getelementptr inbounds nuw i8, ptr %34, i64 %35
  %37 = load i8, ptr %36, align 1
  %38 = icmp eq i8 %37, 0
  br i1 %38, label %100, label %39

39:                                               ; preds = %20, %30
  %40 = load ptr, ptr %10, align 8
  %41 = load i16, ptr %25, align 4
  %42 = zext i16 %41 to i64
  %43 = getelementptr inbounds nuw ptr, ptr %40, i64 %42
  %44 = load ptr, ptr %43, align 8
  %45 = getelementptr inbounds nuw i8, ptr %22, i64 96
  %46 = load i32, ptr %45, align 8
  %47 = zext i32 %46 to i64
  %48 = getelementptr inbounds nuw i8, ptr %29, i64 %47
  %49 = getelementptr inbounds nuw i8, ptr %25, i64 4
  %50 = load i32, ptr %49, align 4
  %51 = zext i32 %50 to i64
  %52 = getelementptr inbounds nuw i64, ptr %48, i64 %51
  %53 = tail call i64 @object_head() #20
  %54 = getelementptr inbounds i8, ptr %44, i64 %53
  %55 = getelementptr inbounds i8, ptr %54, i64 -8
  %56 = load ptr, ptr %55, align 8
  %57 = ptrtoint ptr %56 to i64
  store i64 %57, ptr %52, align 8
  %58 = ptrtoint ptr %44 to i64
  %59 = getelementptr inbounds nuw i8, ptr %52, i64 8
  store i64 %58, ptr %59, align 8
  %60 = load ptr, ptr %55, align 8
  %61 = load ptr, ptr %11, align 8
  %62 = icmp eq ptr %60, %61
  br i1 %62, label %100, label %63

63:                                               ; preds = %39
  %64 = load ptr, ptr %12, align 8
  %65 = icmp eq ptr %44, %64
  br i1 %65, label %100, label %66

66:                                               ; preds = %63
  %67 = load ptr, ptr %13, align 8
  %68 = icmp eq ptr %60, %67
  br i1 %68, label %69, label %71

69:                                               ; preds = %66
  %70 = load i64, ptr %54, align 8
  br label %98

71:                                               ; preds = %66
  %72 = load ptr, ptr %14, align 8
  %73 = icmp eq ptr %60, %72
  br i1 %73, label %74, label %95

74:                                               ; preds = %71
  %75 = load i64, ptr %54, align 8
  %76 = load i64, ptr %15, align 8
  %77 = xor i64 %76, -1
  %78 = and i64 %75, %77
  %79 = load i64, ptr %16, align 8
  %80 = icmp eq i64 %78, %79
  br i1 %80, label %81, label %85

81:                                               ; preds = %74
  %82 = getelementptr inbounds nuw i8, ptr %54, i64 8
  %83 = load i32, ptr %82, align 4
  %84 = zext i32 %83 to i64
  br label %98

85:                                               ; preds = %74
  %86 = load ptr, ptr %17, align 8
  %87 = tail call i64 %86(ptr noundef nonnull %44) #23
  %88 = icmp eq i64 %87, -1
  br i1 %88, label %89, label %98

89:                                               ; preds = %85
  %90 = load ptr, ptr %18, align 8
  %91 = tail call ptr %90() #23
  %92 = icmp eq ptr %91, null
  br i1 %92, label %98, label %93

93:                                               ; preds = %89
  %94 = load ptr, ptr %19, align 8
  tail call void %94() #23
  br label %95

95:                                               ; preds = %71, %93
  %96 = tail call fastcc i32 @known_constant(ptr noundef %0, ptr noundef nonnull %44, ptr noundef nonnull %52) #22
  %97 = icmp eq i32 %96, 0
  br i1 %97, label %100, label %107

98:                                               ; preds = %81, %85, %89, %69
  %99 = phi i64 [ %70, %69 ], [ %84, %81 ], [ %87, %85 ], [ -1, %89 ]
  store i64 %99, ptr %59, align 8
  br label %100

100:                                              ; preds = %98, %95, %30, %39, %63
  %101 = add nuw nsw i64 %21, 1
  %102 = load ptr, ptr %0, align 8
  %103 = getelementptr inbounds nuw i8, ptr %102, i64 36
  %104 = load i32, ptr %103, align 4
  %105 = zext i32 %104 to i64
  %106 = icmp samesign ult i64 %101, %105
  br i1 %106, label %20, label %107, !llvm.loop !48

107:                                              ; preds = %100, %95, %1
  %108 = phi i32 [ 0, %1 ], [ %96, %95 ], [ 0, %100 ]
  ret i32 %108
}

; Function Attrs: nofree noinline norecurse nosync nounwind memory(readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none)
define internal fastcc range(i32 0, 2) i32 @unsure_dims(ptr noundef nonnull readonly captures(none) %0) unnamed_addr #8 {
  %2 = load ptr, ptr %0, align 8
  %3 = getelementptr inbounds nuw i8, ptr %2, i64 40
  %4 = load i32, ptr %3, align 8
  %5 = icmp eq i32 %4, 0
  br i1 %5, label %84, label %6

6:                                                ; preds = %1
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 8
  br label %8

8:                                                ; preds = %6, %77
  %9 = phi ptr [ %2, %6 ], [ %78, %77 ]
  %10 = phi i64 [ 0, %6 ], [ %79, %77 ]
  %11 = load ptr, ptr %7, align 8
  %12 = getelementptr inbounds nuw i8, ptr %9, i64 116
  %13 = load i32, ptr %12, align 4
  %14 = zext i32 %13 to i64
  %15 = getelementptr inbounds nuw i8, ptr %11, i64 %14
  %16 = trunc nuw i64 %10 to i32
  %17 = shl i32 %16, 1
  %18 = zext i32 %17 to i64
  %19 = getelementptr inbounds nuw i64, ptr %15, i64 %18
  %20 = load i64, ptr %19, align 8
  %21 = getelementptr inbounds nuw i8, ptr %9, i64 96
  %22 = load i32, ptr %21, align 8
  %23 = zext i32 %22 to i64
  %24 = getelementptr inbounds nuw i8, ptr %11, i64 %23
  %25 = getelementptr inbounds nuw i8, ptr %9, i64 100
  %26 = load i32, ptr %25, align 4
  %27 = zext i32 %26 to i64
  %28 = getelementptr inbounds nuw i8, ptr %24, i64 %27
  %29 = getelementptr inbounds nuw i8, ptr %28, i64 %18
  %30 = load i8, ptr %29, align 1
  %31 = icmp eq i8 %30, 0
  br i1 %31, label %32, label %77

32:                                               ; preds = %8
  %33 = or disjoint i32 %17, 1
  %34 = zext i32 %33 to i64
  %35 = getelementptr inbounds nuw i64, ptr %15, i64 %34
  %36 = load i64, ptr %35, align 8
  %37 = icmp eq i64 %36, 0
  br i1 %37, label %77, label %38

38:                                               ; preds = %32
  %39 = getelementptr inbounds nuw i8, ptr %9, i64 168
  %40 = load ptr, ptr %39, align 8
  %41 = getelementptr inbounds nuw %struct.dim_row, ptr %40, i64 %10
  %42 = getelementptr inbounds nuw i8, ptr %41, i64 24
  %43 = load i32, ptr %42, align 8
  %44 = icmp eq i32 %43, 0
  br i1 %44, label %63, label %45

45:                                               ; preds = %38
  %46 = load i64, ptr %41, align 8
  %47 = icmp slt i64 %20, %46
  br i1 %47, label %84, label %48

48:                                               ; preds = %45
  %49 = getelementptr inbounds nuw i8, ptr %41, i64 8
  %50 = load i64, ptr %49, align 8
  %51 = icmp sgt i64 %20, %50
  br i1 %51, label %84, label %52

52:                                               ; preds = %48
  %53 = getelementptr inbounds nuw i8, ptr %41, i64 16
  %54 = load i64, ptr %53, align 8
  %55 = icmp sgt i64 %54, 1
  br i1 %55, label %56, label %59

56:                                               ; preds = %52
  %57 = srem i64 %20, %54
  %58 = icmp ne i64 %57, 0
  br label %59

59:                                               ; preds = %52, %56
  %60 = phi i1 [ false, %52 ], [ %58, %56 ]
  %61 = icmp slt i64 %20, -2147483648
  %62 = select i1 %60, i1 true, i1 %61
  br i1 %62, label %84, label %65

63:                                               ; preds = %38
  %64 = icmp slt i64 %20, -2147483648
  br i1 %64, label %84, label %65

65:                                               ; preds = %59, %63
  %66 = getelementptr inbounds nuw i8, ptr %9, i64 60
  %67 = load i32, ptr %66, align 4
  %68 = zext i32 %67 to i64
  %69 = getelementptr inbounds nuw i8, ptr %11, i64 %68
  %70 = getelementptr inbounds nuw i64, ptr %69, i64 %10
  store i64 %20, ptr %70, align 8
  %71 = shl nuw nsw i64 %10, 1
  %72 = getelementptr inbounds nuw i8, ptr %28, i64 %71
  store i8 1, ptr %72, align 1
  %73 = icmp sgt i64 %20, 2147418112
  %74 = zext i1 %73 to i8
  %75 = getelementptr inbounds nuw i8, ptr %72, i64 1
  store i8 %74, ptr %75, align 1
  %76 = load ptr, ptr %0, align 8
  br label %77

77:                                               ; preds = %65, %32, %8
  %78 = phi ptr [ %76, %65 ], [ %9, %32 ], [ %9, %8 ]
  %79 = add nuw nsw i64 %10, 1
  %80 = getelementptr inbounds nuw i8, ptr %78, i64 40
  %81 = load i32, ptr %80, align 8
  %82 = zext i32 %81 to i64
  %83 = icmp samesign ult i64 %79, %82
  br i1 %83, label %8, label %84, !llvm.loop !49

84:                                               ; preds = %59, %63, %77, %48, %45, %1
  %85 = phi i32 [ 0, %1 ], [ 1, %48 ], [ 1, %63 ], [ 0, %77 ], [ 1, %45 ], [ 1, %59 ]
  ret i32 %85
}

; Function Attrs: nofree noinline norecurse nosync nounwind memory(readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none)
define internal fastcc range(i32 0, 2) i32 @agree(ptr noundef nonnull readonly captures(none) %0) unnamed_addr #8 {
  %2 = alloca i64, align 8
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 16
  %4 = load i32, ptr %3, align 8
  %5 = icmp eq i32 %4, 0
  br i1 %5, label %36, label %6

6:                                                ; preds = %1
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %8 = load ptr, ptr %7, align 8
  %9 = load ptr, ptr %0, align 8
  %10 = getelementptr inbounds nuw i8, ptr %9, i64 120
  %11 = load i32, ptr %10, align 8
  %12 = zext i32 %11 to i64
  %13 = getelementptr inbounds nuw i8, ptr %8, i64 %12
  %14 = getelementptr inbounds nuw i8, ptr %9, i64 176
  %15 = load ptr, ptr %14, align 8
  %16 = zext i32 %4 to i64
  br label %20

17:                                               ; preds = %30
  %18 = add nuw nsw i64 %21, 1
  %19 = icmp eq i64 %18, %16
  br i1 %19, label %36, label %20, !llvm.loop !50

20:                                               ; preds = %6, %17
  %21 = phi i64 [ 0, %6 ], [ %18, %17 ]
  call void @llvm.lifetime.start.p0(ptr nonnull %2) #21
  store i64 0, ptr %2, align 8
  %22 = shl nuw i64 %21, 1
  %23 = and i64 %22, 4294967294
  %24 = getelementptr inbounds nuw i64, ptr %13, i64 %23
  %25 = load i64, ptr %24, align 8
  %26 = getelementptr inbounds ptr, ptr %15, i64 %25
  %27 = load ptr, ptr %26, align 8
  %28 = call fastcc i32 @evaluate(ptr noundef %0, ptr noundef %27, ptr noundef %2) #22
  %29 = icmp eq i32 %28, 0
  br i1 %29, label %30, label %35

30:                                               ; preds = %20
  %31 = load i64, ptr %2, align 8
  %32 = getelementptr inbounds nuw i8, ptr %24, i64 8
  %33 = load i64, ptr %32, align 8
  %34 = icmp eq i64 %31, %33
  call void @llvm.lifetime.end.p0(ptr nonnull %2) #21
  br i1 %34, label %17, label %36

35:                                               ; preds = %20
  call void @llvm.lifetime.end.p0(ptr nonnull %2) #21
  br label %36

36:                                               ; preds = %17, %30, %1, %35
  %37 = phi i32 [ 1, %35 ], [ 0, %1 ], [ 0, %17 ], [ 1, %30 ]
  ret i32 %37
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 4) i32 @numbers(ptr noundef nonnull readonly captures(none) %0) unnamed_addr #3 {
  %2 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %3 = load ptr, ptr %2, align 8
  %4 = getelementptr inbounds nuw i8, ptr %3, i64 32
  %5 = load ptr, ptr %4, align 8
  %6 = getelementptr inbounds nuw i8, ptr %3, i64 56
  %7 = load ptr, ptr %6, align 8
  %8 = getelementptr inbounds nuw i8, ptr %3, i64 40
  %9 = load i64, ptr %8, align 8
  %10 = getelementptr inbounds nuw i8, ptr %3, i64 48
  %11 = load i64, ptr %10, align 8
  %12 = xor i64 %11, -1
  %13 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %14 = load ptr, ptr %13, align 8
  %15 = getelementptr inbounds nuw i8, ptr %0, i64 40
  %16 = load ptr, ptr %15, align 8
  %17 = load ptr, ptr %0, align 8
  %18 = getelementptr inbounds nuw i8, ptr %17, i64 152
  %19 = load ptr, ptr %18, align 8
  %20 = getelementptr inbounds nuw i8, ptr %17, i64 32
  %21 = load i32, ptr %20, align 8
  %22 = zext i32 %21 to i64
  %23 = mul nuw nsw i64 %22, 20
  %24 = getelementptr inbounds nuw i8, ptr %19, i64 %23
  %25 = icmp eq i32 %21, 0
  br i1 %25, label %72, label %26

26:                                               ; preds = %1, %69
  %27 = phi ptr [ %70, %69 ], [ %19, %1 ]
  %28 = load i16, ptr %27, align 4
  %29 = zext i16 %28 to i64
  %30 = getelementptr inbounds nuw ptr, ptr %16, i64 %29
  %31 = load ptr, ptr %30, align 8
  %32 = getelementptr inbounds nuw i8, ptr %27, i64 8
  %33 = load i32, ptr %32, align 4
  %34 = zext i32 %33 to i64
  %35 = getelementptr inbounds nuw i8, ptr %14, i64 %34
  %36 = getelementptr inbounds nuw i8, ptr %27, i64 4
  %37 = load i32, ptr %36, align 4
  switch i32 %37, label %66 [
    i32 0, label %38
    i32 1, label %52
  ]

38:                                               ; preds = %26
  %39 = tail call i64 @object_head() #20
  %40 = getelementptr inbounds i8, ptr %31, i64 %39
  %41 = getelementptr inbounds i8, ptr %40, i64 -8
  %42 = load ptr, ptr %41, align 8
  %43 = icmp eq ptr %42, %5
  br i1 %43, label %44, label %66, !prof !4

44:                                               ; preds = %38
  %45 = load i64, ptr %40, align 8
  %46 = and i64 %45, %12
  %47 = icmp eq i64 %46, %9
  br i1 %47, label %48, label %66, !prof !4

48:                                               ; preds = %44
  %49 = getelementptr inbounds nuw i8, ptr %40, i64 8
  %50 = load i32, ptr %49, align 4
  %51 = zext i32 %50 to i64
  store i64 %51, ptr %35, align 8
  br label %69

52:                                               ; preds = %26
  %53 = tail call i64 @object_head() #20
  %54 = getelementptr inbounds i8, ptr %31, i64 %53
  %55 = getelementptr inbounds i8, ptr %54, i64 -8
  %56 = load ptr, ptr %55, align 8
  %57 = icmp eq ptr %56, %7
  br i1 %57, label %58, label %66, !prof !4

58:                                               ; preds = %52
  %59 = load i64, ptr %54, align 8
  %60 = bitcast i64 %59 to double
  %61 = fptrunc double %60 to float
  %62 = bitcast float %61 to i32
  %63 = zext i32 %62 to i64
  store i64 %63, ptr %35, align 8
  %64 = and i64 %59, 9223372036586340352
  %65 = icmp samesign ugt i64 %64, 5183643170835005439
  br i1 %65, label %66, label %69

66:                                               ; preds = %38, %26, %52, %58, %44
  %67 = tail call fastcc i32 @other_number(ptr noundef %0, ptr noundef nonnull %27) #22
  %68 = icmp eq i32 %67, 0
  br i1 %68, label %69, label %72, !prof !4

69:                                               ; preds = %58, %66, %48
  %70 = getelementptr inbounds nuw i8, ptr %27, i64 20
  %71 = icmp ult ptr %70, %24
  br i1 %71, label %26, label %72, !llvm.loop !51

72:                                               ; preds = %69, %66, %1
  %73 = phi i32 [ 0, %1 ], [ %67, %66 ], [ 0, %69 ]
  ret i32 %73
}

; Function Attrs: mustprogress nocallback nofree nounwind willreturn memory(argmem: readwrite)
declare void @llvm.memcpy.p0.p0.i64(ptr noalias writeonly captures(none), ptr noalias readonly captures(none), i64, i1 immarg) #9

; Function Attrs: nofree noinline norecurse nosync nounwind memory(readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none)
define internal fastcc range(i32 0, 5) i32 @grid_of_dims(ptr noundef nonnull readonly captures(none) %0, ptr noundef nonnull writeonly captures(none) initializes((4, 12)) %1) unnamed_addr #8 {
  %3 = alloca i64, align 8
  %4 = getelementptr inbounds nuw i8, ptr %1, i64 8
  store i32 1, ptr %4, align 4
  %5 = getelementptr inbounds nuw i8, ptr %1, i64 4
  store i32 1, ptr %5, align 4
  %6 = load ptr, ptr %0, align 8
  %7 = getelementptr inbounds nuw i8, ptr %6, i64 44
  %8 = load i32, ptr %7, align 4
  %9 = icmp eq i32 %8, 0
  br i1 %9, label %78, label %10

10:                                               ; preds = %2
  %11 = getelementptr inbounds nuw i8, ptr %6, i64 184
  %12 = load ptr, ptr %11, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %3) #21
  %13 = getelementptr inbounds nuw i8, ptr %12, i64 8
  %14 = load i64, ptr %13, align 8
  store i64 %14, ptr %3, align 8
  %15 = load i32, ptr %12, align 8
  %16 = icmp eq i32 %15, 2
  br i1 %16, label %17, label %26

17:                                               ; preds = %10
  %18 = getelementptr inbounds nuw i8, ptr %6, i64 176
  %19 = load ptr, ptr %18, align 8
  %20 = getelementptr inbounds ptr, ptr %19, i64 %14
  %21 = load ptr, ptr %20, align 8
  %22 = call fastcc i32 @evaluate(ptr noundef %0, ptr noundef %21, ptr noundef %3) #22
  %23 = icmp eq i32 %22, 0
  br i1 %23, label %24, label %77

24:                                               ; preds = %17
  %25 = load i64, ptr %3, align 8
  br label %26

26:                                               ; preds = %24, %10
  %27 = phi i64 [ %25, %24 ], [ %14, %10 ]
  %28 = icmp ugt i64 %27, 2147483647
  br i1 %28, label %77, label %29

29:                                               ; preds = %26
  %30 = icmp eq i64 %27, 0
  %31 = zext i1 %30 to i32
  %32 = trunc nuw nsw i64 %27 to i32
  store i32 %32, ptr %1, align 4
  call void @llvm.lifetime.end.p0(ptr nonnull %3) #21
  %33 = load ptr, ptr %0, align 8
  %34 = getelementptr inbounds nuw i8, ptr %33, i64 44
  %35 = load i32, ptr %34, align 4
  %36 = icmp ugt i32 %35, 1
  br i1 %36, label %37, label %72

37:                                               ; preds = %29, %60
  %38 = phi i64 [ %66, %60 ], [ 1, %29 ]
  %39 = phi ptr [ %67, %60 ], [ %33, %29 ]
  %40 = phi i32 [ %63, %60 ], [ %31, %29 ]
  %41 = getelementptr inbounds nuw i8, ptr %39, i64 184
  %42 = load ptr, ptr %41, align 8
  %43 = getelementptr inbounds nuw %struct.rule, ptr %42, i64 %38
  call void @llvm.lifetime.start.p0(ptr nonnull %3) #21
  %44 = getelementptr inbounds nuw i8, ptr %43, i64 8
  %45 = load i64, ptr %44, align 8
  store i64 %45, ptr %3, align 8
  %46 = load i32, ptr %43, align 8
  %47 = icmp eq i32 %46, 2
  br i1 %47, label %48, label %57

48:                                               ; preds = %37
  %49 = getelementptr inbounds nuw i8, ptr %39, i64 176
  %50 = load ptr, ptr %49, align 8
  %51 = getelementptr inbounds ptr, ptr %50, i64 %45
  %52 = load ptr, ptr %51, align 8
  %53 = call fastcc i32 @evaluate(ptr noundef %0, ptr noundef %52, ptr noundef %3) #22
  %54 = icmp eq i32 %53, 0
  br i1 %54, label %55, label %77

55:                                               ; preds = %48
  %56 = load i64, ptr %3, align 8
  br label %57

57:                                               ; preds = %55, %37
  %58 = phi i64 [ %56, %55 ], [ %45, %37 ]
  %59 = icmp ugt i64 %58, 65535
  br i1 %59, label %77, label %60

60:                                               ; preds = %57
  %61 = icmp eq i64 %58, 0
  %62 = zext i1 %61 to i32
  %63 = or i32 %40, %62
  %64 = trunc nuw nsw i64 %58 to i32
  %65 = getelementptr inbounds nuw i32, ptr %1, i64 %38
  store i32 %64, ptr %65, align 4
  call void @llvm.lifetime.end.p0(ptr nonnull %3) #21
  %66 = add nuw nsw i64 %38, 1
  %67 = load ptr, ptr %0, align 8
  %68 = getelementptr inbounds nuw i8, ptr %67, i64 44
  %69 = load i32, ptr %68, align 4
  %70 = zext i32 %69 to i64
  %71 = icmp samesign ult i64 %66, %70
  br i1 %71, label %37, label %72, !llvm.loop !52

72:                                               ; preds = %60, %29
  %73 = phi i32 [ %31, %29 ], [ %63, %60 ]
  %74 = freeze i32 %73
  %75 = icmp eq i32 %74, 0
  %76 = select i1 %75, i32 0, i32 4
  br label %78

77:                                               ; preds = %48, %57, %26, %17
  call void @llvm.lifetime.end.p0(ptr nonnull %3) #21
  br label %78

78:                                               ; preds = %72, %77, %2
  %79 = phi i32 [ 1, %77 ], [ %76, %72 ], [ 0, %2 ]
  ret i32 %79
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 4) i32 @make(ptr noundef nonnull readonly captures(none) %0, ptr noundef readonly captures(none) %1) unnamed_addr #3 {
  %3 = load ptr, ptr %0, align 8
  %4 = getelementptr inbounds nuw i8, ptr %3, i64 84
  %5 = load i32, ptr %4, align 4
  %6 = zext i32 %5 to i64
  %7 = getelementptr inbounds nuw i8, ptr %1, i64 %6
  %8 = getelementptr inbounds nuw i8, ptr %3, i64 152
  %9 = load ptr, ptr %8, align 8
  %10 = getelementptr inbounds nuw i8, ptr %3, i64 32
  %11 = load i32, ptr %10, align 8
  %12 = zext i32 %11 to i64
  %13 = mul nuw nsw i64 %12, 20
  %14 = getelementptr inbounds nuw i8, ptr %9, i64 %13
  %15 = icmp eq i32 %11, 0
  br i1 %15, label %61, label %16

16:                                               ; preds = %2
  %17 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %18 = getelementptr inbounds nuw i8, ptr %0, i64 40
  br label %19

19:                                               ; preds = %16, %56
  %20 = phi ptr [ %9, %16 ], [ %57, %56 ]
  %21 = getelementptr inbounds nuw i8, ptr %20, i64 16
  %22 = load i32, ptr %21, align 4
  %23 = icmp eq i32 %22, 0
  br i1 %23, label %56, label %24

24:                                               ; preds = %19
  %25 = getelementptr inbounds nuw i8, ptr %20, i64 2
  %26 = load i16, ptr %25, align 2
  %27 = icmp eq i16 %26, -1
  %28 = load ptr, ptr %17, align 8
  br i1 %27, label %39, label %29

29:                                               ; preds = %24
  %30 = load ptr, ptr %0, align 8
  %31 = getelementptr inbounds nuw i8, ptr %30, i64 124
  %32 = load i32, ptr %31, align 4
  %33 = zext i32 %32 to i64
  %34 = getelementptr inbounds nuw i8, ptr %28, i64 %33
  %35 = zext i16 %26 to i64
  %36 = getelementptr inbounds nuw i8, ptr %34, i64 %35
  %37 = load i8, ptr %36, align 1
  %38 = icmp eq i8 %37, 0
  br i1 %38, label %56, label %39

39:                                               ; preds = %24, %29
  %40 = load ptr, ptr %18, align 8
  %41 = load i16, ptr %20, align 4
  %42 = zext i16 %41 to i64
  %43 = getelementptr inbounds nuw ptr, ptr %40, i64 %42
  %44 = load ptr, ptr %43, align 8
  %45 = getelementptr inbounds nuw i8, ptr %20, i64 12
  %46 = load i32, ptr %45, align 4
  %47 = zext i32 %46 to i64
  %48 = getelementptr inbounds nuw i32, ptr %7, i64 %47
  %49 = load i32, ptr %48, align 4
  %50 = getelementptr inbounds nuw i8, ptr %20, i64 8
  %51 = load i32, ptr %50, align 4
  %52 = zext i32 %51 to i64
  %53 = getelementptr inbounds nuw i8, ptr %28, i64 %52
  %54 = tail call fastcc i32 @number(ptr noundef %0, ptr noundef %44, i32 noundef %49, ptr noundef %53) #22
  %55 = icmp eq i32 %54, 0
  br i1 %55, label %56, label %124

56:                                               ; preds = %19, %29, %39
  %57 = getelementptr inbounds nuw i8, ptr %20, i64 20
  %58 = icmp ult ptr %57, %14
  br i1 %58, label %19, label %59, !llvm.loop !54

59:                                               ; preds = %56
  %60 = load ptr, ptr %0, align 8
  br label %61

61:                                               ; preds = %59, %2
  %62 = phi ptr [ %60, %59 ], [ %3, %2 ]
  %63 = getelementptr inbounds nuw i8, ptr %62, i64 28
  %64 = load i32, ptr %63, align 4
  %65 = icmp eq i32 %64, 0
  br i1 %65, label %124, label %66

66:                                               ; preds = %61
  %67 = getelementptr inbounds nuw i8, ptr %62, i64 88
  %68 = load i32, ptr %67, align 8
  %69 = zext i32 %68 to i64
  %70 = getelementptr inbounds nuw i8, ptr %1, i64 %69
  %71 = getelementptr inbounds nuw i8, ptr %0, i64 8
  br label %72

72:                                               ; preds = %66, %115
  %73 = phi ptr [ %62, %66 ], [ %116, %115 ]
  %74 = phi ptr [ %62, %66 ], [ %117, %115 ]
  %75 = phi i64 [ 0, %66 ], [ %119, %115 ]
  %76 = phi ptr [ %70, %66 ], [ %118, %115 ]
  %77 = getelementptr inbounds nuw i8, ptr %74, i64 144
  %78 = load ptr, ptr %77, align 8
  %79 = getelementptr inbounds nuw %struct.array_row, ptr %78, i64 %75
  %80 = getelementptr inbounds nuw i8, ptr %79, i64 4
  %81 = load i32, ptr %80, align 4
  %82 = icmp eq i32 %81, 0
  br i1 %82, label %115, label %83

83:                                               ; preds = %72
  %84 = getelementptr inbounds nuw i8, ptr %79, i64 2
  %85 = load i16, ptr %84, align 2
  %86 = icmp eq i16 %85, -1
  %87 = load ptr, ptr %71, align 8
  br i1 %86, label %97, label %88

88:                                               ; preds = %83
  %89 = getelementptr inbounds nuw i8, ptr %74, i64 124
  %90 = load i32, ptr %89, align 4
  %91 = zext i32 %90 to i64
  %92 = getelementptr inbounds nuw i8, ptr %87, i64 %91
  %93 = zext i16 %85 to i64
  %94 = getelementptr inbounds nuw i8, ptr %92, i64 %93
  %95 = load i8, ptr %94, align 1
  %96 = icmp eq i8 %95, 0
  br i1 %96, label %112, label %97

97:                                               ; preds = %83, %88
  %98 = load ptr, ptr %76, align 8
  %99 = getelementptr inbounds nuw i8, ptr %74, i64 108
  %100 = load i32, ptr %99, align 4
  %101 = zext i32 %100 to i64
  %102 = getelementptr inbounds nuw i8, ptr %87, i64 %101
  %103 = getelementptr inbounds nuw %struct.tensor, ptr %102, i64 %75
  %104 = getelementptr inbounds nuw i64, ptr %87, i64 %75
  %105 = load i64, ptr %104, align 8
  %106 = zext i32 %81 to i64
  %107 = getelementptr inbounds nuw i8, ptr %87, i64 %106
  %108 = tail call fastcc i32 @tensor_map(ptr noundef %0, ptr noundef %98, ptr noundef %103, i64 noundef %105, ptr noundef nonnull %107) #22
  %109 = icmp eq i32 %108, 0
  br i1 %109, label %110, label %124

110:                                              ; preds = %97
  %111 = load ptr, ptr %0, align 8
  br label %112

112:                                              ; preds = %110, %88
  %113 = phi ptr [ %111, %110 ], [ %73, %88 ]
  %114 = getelementptr inbounds nuw i8, ptr %76, i64 8
  br label %115

115:                                              ; preds = %112, %72
  %116 = phi ptr [ %73, %72 ], [ %113, %112 ]
  %117 = phi ptr [ %74, %72 ], [ %113, %112 ]
  %118 = phi ptr [ %76, %72 ], [ %114, %112 ]
  %119 = add nuw nsw i64 %75, 1
  %120 = getelementptr inbounds nuw i8, ptr %117, i64 28
  %121 = load i32, ptr %120, align 4
  %122 = zext i32 %121 to i64
  %123 = icmp samesign ult i64 %119, %122
  br i1 %123, label %72, label %124, !llvm.loop !55

124:                                              ; preds = %39, %97, %115, %61
  %125 = phi i32 [ 1, %97 ], [ 0, %61 ], [ 0, %115 ], [ %54, %39 ]
  ret i32 %125
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 5) i32 @read_array(ptr noundef nonnull captures(none) %0, ptr noundef %1, ptr noundef %2) unnamed_addr #3 {
  %4 = alloca ptr, align 8
  store ptr %1, ptr %4, align 8
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %6 = load ptr, ptr %5, align 8
  %7 = tail call i32 @has_lock() #20
  %8 = icmp eq i32 %7, 0
  %9 = getelementptr inbounds nuw i8, ptr %6, i64 16
  br i1 %8, label %12, label %10

10:                                               ; preds = %3
  %11 = load ptr, ptr %9, align 8
  br label %16

12:                                               ; preds = %3
  %13 = load atomic i64, ptr %9 seq_cst, align 8
  %14 = inttoptr i64 %13 to ptr
  %15 = load ptr, ptr %4, align 8
  br label %16

16:                                               ; preds = %12, %10
  %17 = phi ptr [ %1, %10 ], [ %15, %12 ]
  %18 = phi ptr [ %11, %10 ], [ %14, %12 ]
  %19 = load ptr, ptr %18, align 8
  %20 = tail call i64 @object_head() #20
  %21 = getelementptr inbounds i8, ptr %17, i64 %20
  %22 = getelementptr inbounds i8, ptr %21, i64 -8
  %23 = load ptr, ptr %22, align 8
  %24 = icmp eq ptr %19, %23
  br i1 %24, label %52, label %25

25:                                               ; preds = %16
  %26 = tail call fastcc ptr @find_type(ptr noundef nonnull %6, ptr noundef %23) #22
  %27 = icmp eq ptr %26, null
  br i1 %27, label %28, label %46

28:                                               ; preds = %25
  %29 = getelementptr inbounds nuw i8, ptr %6, i64 224
  %30 = load ptr, ptr %29, align 8
  %31 = getelementptr inbounds nuw i8, ptr %6, i64 368
  %32 = load ptr, ptr %31, align 8
  %33 = call ptr %30(ptr noundef %32, ptr noundef nonnull %4, i64 noundef 1, ptr noundef null) #23
  %34 = icmp eq ptr %33, null
  br i1 %34, label %35, label %37

35:                                               ; preds = %28
  %36 = call fastcc i32 @failed(ptr noundef nonnull %6) #22
  br label %207

37:                                               ; preds = %28
  %38 = getelementptr inbounds nuw i8, ptr %6, i64 192
  %39 = load ptr, ptr %38, align 8
  call void %39(ptr noundef nonnull %33) #23
  %40 = load ptr, ptr %4, align 8
  %41 = getelementptr inbounds i8, ptr %40, i64 %20
  %42 = getelementptr inbounds i8, ptr %41, i64 -8
  %43 = load ptr, ptr %42, align 8
  %44 = call fastcc ptr @find_type(ptr noundef nonnull %6, ptr noundef %43) #22
  %45 = icmp eq ptr %44, null
  br i1 %45, label %207, label %46

46:                                               ; preds = %37, %25
  %47 = phi ptr [ %26, %25 ], [ %44, %37 ]
  %48 = getelementptr inbounds nuw i8, ptr %6, i64 16
  br i1 %8, label %50, label %49

49:                                               ; preds = %46
  store ptr %47, ptr %48, align 8
  br label %52

50:                                               ; preds = %46
  %51 = ptrtoint ptr %47 to i64
  store atomic i64 %51, ptr %48 release, align 8
  br label %52

52:                                               ; preds = %49, %50, %16
  %53 = phi ptr [ %47, %49 ], [ %47, %50 ], [ %18, %16 ]
  %54 = getelementptr inbounds nuw i8, ptr %53, i64 8
  %55 = load i64, ptr %54, align 8
  switch i64 %55, label %207 [
    i64 4, label %56
    i64 3, label %61
    i64 6, label %93
    i64 1, label %174
    i64 2, label %174
  ]

56:                                               ; preds = %52
  %57 = getelementptr inbounds nuw i8, ptr %0, i64 64
  %58 = load i32, ptr %57, align 8
  %59 = icmp eq i32 %58, 0
  %60 = select i1 %59, i32 4, i32 0
  br label %207

61:                                               ; preds = %52
  %62 = getelementptr inbounds nuw i8, ptr %6, i64 240
  %63 = load ptr, ptr %62, align 8
  %64 = load ptr, ptr %4, align 8
  %65 = getelementptr inbounds nuw i8, ptr %6, i64 352
  %66 = load ptr, ptr %65, align 8
  %67 = call ptr %63(ptr noundef %64, ptr noundef %66) #23
  %68 = icmp eq ptr %67, null
  br i1 %68, label %69, label %71

69:                                               ; preds = %61
  %70 = call fastcc i32 @failed(ptr noundef nonnull %6) #22
  br label %207

71:                                               ; preds = %61
  %72 = getelementptr inbounds nuw i8, ptr %6, i64 144
  %73 = load ptr, ptr %72, align 8
  %74 = call ptr %73(ptr noundef nonnull %67) #23
  %75 = getelementptr inbounds nuw i8, ptr %6, i64 192
  %76 = load ptr, ptr %75, align 8
  call void %76(ptr noundef nonnull %67) #23
  %77 = load i64, ptr %74, align 8
  store i64 %77, ptr %2, align 8
  %78 = getelementptr inbounds nuw i8, ptr %74, i64 8
  %79 = load i64, ptr %78, align 8
  %80 = getelementptr inbounds nuw i8, ptr %2, i64 8
  store i64 %79, ptr %80, align 8
  %81 = getelementptr inbounds nuw i8, ptr %74, i64 16
  %82 = load i64, ptr %81, align 8
  %83 = getelementptr inbounds nuw i8, ptr %2, i64 16
  store i64 %82, ptr %83, align 8
  %84 = getelementptr inbounds nuw i8, ptr %74, i64 24
  %85 = load i64, ptr %84, align 8
  %86 = getelementptr inbounds nuw i8, ptr %2, i64 24
  store i64 %85, ptr %86, align 8
  %87 = getelementptr inbounds nuw i8, ptr %74, i64 32
  %88 = load i64, ptr %87, align 8
  %89 = getelementptr inbounds nuw i8, ptr %2, i64 32
  store i64 %88, ptr %89, align 8
  %90 = getelementptr inbounds nuw i8, ptr %74, i64 40
  %91 = load i64, ptr %90, align 8
  %92 = getelementptr inbounds nuw i8, ptr %2, i64 40
  store i64 %91, ptr %92, align 8
  br label %207

93:                                               ; preds = %52
  %94 = load ptr, ptr %4, align 8
  %95 = getelementptr inbounds nuw i8, ptr %6, i64 24
  %96 = load ptr, ptr %95, align 8
  %97 = load i64, ptr %96, align 8
  %98 = getelementptr inbounds nuw i8, ptr %94, i64 %97
  %99 = load ptr, ptr %98, align 8
  %100 = getelementptr inbounds nuw i8, ptr %96, i64 8
  %101 = load i64, ptr %100, align 8
  %102 = getelementptr inbounds nuw i8, ptr %99, i64 %101
  %103 = load i64, ptr %102, align 8
  %104 = getelementptr inbounds nuw i8, ptr %96, i64 72
  %105 = load i64, ptr %104, align 8
  %106 = icmp eq i64 %103, %105
  br i1 %106, label %111, label %107

107:                                              ; preds = %93
  %108 = getelementptr inbounds nuw i8, ptr %96, i64 80
  %109 = load i64, ptr %108, align 8
  %110 = icmp eq i64 %103, %109
  br i1 %110, label %111, label %174, !prof !4

111:                                              ; preds = %107, %93
  %112 = getelementptr inbounds nuw i8, ptr %96, i64 16
  %113 = load i64, ptr %112, align 8
  %114 = getelementptr inbounds nuw i8, ptr %99, i64 %113
  %115 = load i64, ptr %114, align 8
  %116 = getelementptr inbounds nuw i8, ptr %96, i64 48
  %117 = load i64, ptr %116, align 8
  %118 = getelementptr inbounds nuw i8, ptr %99, i64 %117
  %119 = load i16, ptr %118, align 2
  %120 = icmp ugt i64 %115, 5
  %121 = icmp ugt i16 %119, 63
  %122 = select i1 %120, i1 true, i1 %121, !prof !5
  br i1 %122, label %174, label %123, !prof !5

123:                                              ; preds = %111
  %124 = zext nneg i16 %119 to i64
  %125 = getelementptr inbounds nuw i8, ptr %96, i64 88
  %126 = getelementptr inbounds nuw i32, ptr %125, i64 %124
  %127 = load i32, ptr %126, align 4
  %128 = getelementptr inbounds nuw i8, ptr %96, i64 32
  %129 = load i64, ptr %128, align 8
  %130 = getelementptr inbounds nuw i8, ptr %99, i64 %129
  %131 = load ptr, ptr %130, align 8
  %132 = getelementptr inbounds nuw i8, ptr %96, i64 56
  %133 = load i64, ptr %132, align 8
  %134 = getelementptr inbounds nuw i8, ptr %131, i64 %133
  %135 = load i64, ptr %134, align 8
  %136 = getelementptr inbounds nuw i8, ptr %96, i64 40
  %137 = load i64, ptr %136, align 8
  %138 = getelementptr inbounds nuw i8, ptr %99, i64 %137
  %139 = icmp ne i32 %127, 0
  %140 = icmp ne i64 %135, 0
  %141 = select i1 %139, i1 %140, i1 false, !prof !38
  br i1 %141, label %142, label %174, !prof !38

142:                                              ; preds = %123
  %143 = getelementptr inbounds nuw i8, ptr %96, i64 64
  %144 = load i64, ptr %143, align 8
  %145 = getelementptr inbounds nuw i8, ptr %131, i64 %144
  %146 = load i64, ptr %145, align 8
  %147 = icmp eq i64 %135, %146
  br i1 %147, label %148, label %174, !prof !4

148:                                              ; preds = %142
  %149 = load i8, ptr %138, align 1
  %150 = icmp eq i8 %149, 1
  br i1 %150, label %151, label %174, !prof !4

151:                                              ; preds = %148
  %152 = getelementptr inbounds nuw i8, ptr %96, i64 24
  %153 = load i64, ptr %152, align 8
  %154 = getelementptr inbounds nuw i8, ptr %99, i64 %153
  %155 = load i64, ptr %154, align 8
  %156 = lshr i32 %127, 11
  %157 = and i32 %156, 31
  %158 = zext nneg i32 %157 to i64
  %159 = mul i64 %155, %158
  %160 = add i64 %159, %135
  %161 = getelementptr inbounds nuw i8, ptr %138, i64 1
  %162 = load i8, ptr %161, align 1
  %163 = zext i8 %162 to i32
  %164 = trunc nuw nsw i64 %115 to i32
  %165 = getelementptr inbounds nuw i8, ptr %114, i64 8
  %166 = getelementptr inbounds nuw i8, ptr %114, i64 48
  store i64 %160, ptr %2, align 8
  %167 = getelementptr inbounds nuw i8, ptr %2, i64 8
  store i32 2, ptr %167, align 8
  %168 = getelementptr inbounds nuw i8, ptr %2, i64 12
  store i32 %163, ptr %168, align 4
  %169 = getelementptr inbounds nuw i8, ptr %2, i64 40
  store i64 0, ptr %169, align 8
  %170 = getelementptr inbounds nuw i8, ptr %2, i64 20
  store i32 %127, ptr %170, align 4
  %171 = getelementptr inbounds nuw i8, ptr %2, i64 16
  store i32 %164, ptr %171, align 8
  %172 = getelementptr inbounds nuw i8, ptr %2, i64 24
  store ptr %165, ptr %172, align 8
  %173 = getelementptr inbounds nuw i8, ptr %2, i64 32
  store ptr %166, ptr %173, align 8
  br label %197

174:                                              ; preds = %52, %52, %142, %123, %148, %111, %107
  %175 = getelementptr inbounds nuw i8, ptr %2, i64 32
  store ptr null, ptr %175, align 8
  %176 = getelementptr inbounds nuw i8, ptr %53, i64 16
  %177 = load ptr, ptr %176, align 8
  %178 = load ptr, ptr %4, align 8
  %179 = call i32 %177(ptr noundef %178, ptr noundef %2) #23
  %180 = icmp eq i32 %179, 0
  br i1 %180, label %183, label %181

181:                                              ; preds = %174
  %182 = call fastcc i32 @failed(ptr noundef nonnull %6) #22
  br label %207

183:                                              ; preds = %174
  %184 = load ptr, ptr %175, align 8
  %185 = icmp eq ptr %184, null
  br i1 %185, label %186, label %190

186:                                              ; preds = %183
  %187 = getelementptr inbounds nuw i8, ptr %2, i64 16
  %188 = load i32, ptr %187, align 8
  %189 = icmp eq i32 %188, 0
  br i1 %189, label %190, label %207

190:                                              ; preds = %186, %183
  %191 = load i64, ptr %54, align 8
  %192 = icmp eq i64 %191, 1
  br i1 %192, label %197, label %193

193:                                              ; preds = %190
  %194 = load ptr, ptr %4, align 8
  %195 = call fastcc i32 @never_negated(ptr noundef nonnull %6, ptr noundef %194, ptr noundef nonnull %2) #22
  %196 = icmp eq i32 %195, 0
  br i1 %196, label %197, label %207

197:                                              ; preds = %190, %193, %151
  %198 = getelementptr inbounds nuw i8, ptr %0, i64 48
  %199 = load ptr, ptr %198, align 8
  %200 = icmp eq ptr %199, null
  br i1 %200, label %201, label %207

201:                                              ; preds = %197
  %202 = getelementptr inbounds nuw i8, ptr %53, i64 24
  %203 = load ptr, ptr %202, align 8
  store ptr %203, ptr %198, align 8
  %204 = getelementptr inbounds nuw i8, ptr %2, i64 12
  %205 = load i32, ptr %204, align 4
  %206 = getelementptr inbounds nuw i8, ptr %0, i64 56
  store i32 %205, ptr %206, align 8
  br label %207

207:                                              ; preds = %71, %52, %181, %193, %186, %201, %197, %35, %69, %37, %56
  %208 = phi i32 [ %60, %56 ], [ 1, %37 ], [ 0, %197 ], [ %36, %35 ], [ %70, %69 ], [ 1, %52 ], [ 1, %186 ], [ %182, %181 ], [ %195, %193 ], [ 0, %201 ], [ 0, %71 ]
  ret i32 %208
}

; Function Attrs: nofree noinline nounwind memory(readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none)
define internal fastcc ptr @find_type(ptr noundef readonly captures(none) %0, ptr noundef %1) unnamed_addr #10 {
  %3 = tail call i32 @has_lock() #20
  %4 = icmp eq i32 %3, 0
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 360
  br i1 %4, label %8, label %6

6:                                                ; preds = %2
  %7 = load ptr, ptr %5, align 8
  br label %11

8:                                                ; preds = %2
  %9 = load atomic i64, ptr %5 seq_cst, align 8
  %10 = inttoptr i64 %9 to ptr
  br label %11

11:                                               ; preds = %8, %6
  %12 = phi ptr [ %7, %6 ], [ %10, %8 ]
  %13 = ptrtoint ptr %1 to i64
  %14 = lshr i64 %13, 4
  %15 = getelementptr inbounds nuw i8, ptr %12, i64 32
  br label %16

16:                                               ; preds = %27, %11
  %17 = phi i64 [ %14, %11 ], [ %34, %27 ]
  %18 = phi ptr [ undef, %11 ], [ %32, %27 ]
  %19 = load i64, ptr %12, align 8
  %20 = and i64 %19, %17
  %21 = getelementptr inbounds nuw %struct.type_entry, ptr %15, i64 %20
  br i1 %4, label %24, label %22

22:                                               ; preds = %16
  %23 = load ptr, ptr %21, align 8
  br label %27

24:                                               ; preds = %16
  %25 = load atomic i64, ptr %21 seq_cst, align 8
  %26 = inttoptr i64 %25 to ptr
  br label %27

27:                                               ; preds = %24, %22
  %28 = phi ptr [ %23, %22 ], [ %26, %24 ]
  %29 = icmp ne ptr %28, %1
  %30 = icmp ne ptr %28, null
  %31 = select i1 %30, ptr %18, ptr null
  %32 = select i1 %29, ptr %31, ptr %21
  %33 = and i1 %29, %30
  %34 = add i64 %17, 1
  br i1 %33, label %16, label %35

35:                                               ; preds = %27
  ret ptr %32
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 4) i32 @never_negated(ptr noundef readonly captures(none) %0, ptr noundef %1, ptr noundef readonly captures(none) %2) unnamed_addr #3 {
  %4 = alloca ptr, align 8
  store ptr %1, ptr %4, align 8
  %5 = getelementptr inbounds nuw i8, ptr %2, i64 16
  %6 = load i32, ptr %5, align 8
  %7 = icmp eq i32 %6, 0
  br i1 %7, label %26, label %8

8:                                                ; preds = %3
  %9 = getelementptr inbounds nuw i8, ptr %2, i64 24
  %10 = load ptr, ptr %9, align 8
  %11 = getelementptr inbounds nuw i8, ptr %2, i64 32
  %12 = zext i32 %6 to i64
  br label %13

13:                                               ; preds = %8, %24
  %14 = phi i64 [ %12, %8 ], [ %15, %24 ]
  %15 = add nsw i64 %14, -1
  %16 = getelementptr inbounds nuw i64, ptr %10, i64 %15
  %17 = load i64, ptr %16, align 8
  %18 = icmp sgt i64 %17, 1
  br i1 %18, label %19, label %24

19:                                               ; preds = %13
  %20 = load ptr, ptr %11, align 8
  %21 = getelementptr inbounds nuw i64, ptr %20, i64 %15
  %22 = load i64, ptr %21, align 8
  %23 = icmp eq i64 %22, 1
  br i1 %23, label %42, label %24

24:                                               ; preds = %19, %13
  %25 = icmp eq i64 %15, 0
  br i1 %25, label %26, label %13, !llvm.loop !56

26:                                               ; preds = %24, %3
  %27 = getelementptr inbounds nuw i8, ptr %0, i64 232
  %28 = load ptr, ptr %27, align 8
  %29 = getelementptr inbounds nuw i8, ptr %0, i64 344
  %30 = load ptr, ptr %29, align 8
  %31 = call ptr %28(ptr noundef %30, ptr noundef nonnull %4, i64 noundef 1, ptr noundef null) #23
  %32 = icmp eq ptr %31, null
  br i1 %32, label %33, label %35

33:                                               ; preds = %26
  %34 = call fastcc i32 @failed(ptr noundef nonnull %0) #22
  br label %42

35:                                               ; preds = %26
  %36 = getelementptr inbounds nuw i8, ptr %0, i64 192
  %37 = load ptr, ptr %36, align 8
  call void %37(ptr noundef nonnull %31) #23
  %38 = getelementptr inbounds nuw i8, ptr %0, i64 312
  %39 = load ptr, ptr %38, align 8
  %40 = icmp ne ptr %31, %39
  %41 = zext i1 %40 to i32
  br label %42

42:                                               ; preds = %19, %33, %35
  %43 = phi i32 [ %34, %33 ], [ %41, %35 ], [ 0, %19 ]
  ret i32 %43
}

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: readwrite)
define internal fastcc range(i32 0, 2) i32 @is_of_variable(ptr noundef captures(none) %0, i32 noundef %1, ptr noundef nonnull writeonly captures(none) %2) unnamed_addr #11 {
  %4 = load i64, ptr %0, align 8
  %5 = zext i32 %1 to i64
  %6 = icmp eq i64 %4, %5
  %7 = icmp eq i64 %4, 0
  %8 = or i1 %6, %7
  br i1 %8, label %9, label %12

9:                                                ; preds = %3
  store i64 %5, ptr %0, align 8
  %10 = lshr i32 %1, 11
  %11 = and i32 %10, 31
  store i32 %11, ptr %2, align 4
  br label %12

12:                                               ; preds = %3, %9
  %13 = phi i32 [ 0, %9 ], [ 1, %3 ]
  ret i32 %13
}

; Function Attrs: nofree noinline norecurse nosync nounwind memory(argmem: readwrite)
define internal fastcc range(i32 0, 2) i32 @fit_nested(ptr noundef readonly captures(none) %0, i32 noundef %1, ptr noundef readonly captures(none) %2, ptr noundef readonly captures(none) %3, ptr noundef writeonly captures(none) %4) unnamed_addr #12 {
  %6 = icmp eq i32 %1, 0
  br i1 %6, label %7, label %8

7:                                                ; preds = %5
  store i8 0, ptr %4, align 1
  br label %83

8:                                                ; preds = %5
  %9 = zext i32 %1 to i64
  %10 = and i64 %9, 3
  %11 = icmp ult i32 %1, 4
  br i1 %11, label %16, label %12

12:                                               ; preds = %8
  %13 = and i64 %9, 4294967292
  br label %44

14:                                               ; preds = %44
  %15 = icmp eq i64 %10, 0
  br i1 %15, label %36, label %16

16:                                               ; preds = %14, %8
  %17 = phi i64 [ %9, %8 ], [ %70, %14 ]
  %18 = phi i32 [ 1, %8 ], [ %77, %14 ]
  %19 = phi i64 [ 1, %8 ], [ %80, %14 ]
  %20 = icmp ne i64 %10, 0
  tail call void @llvm.assume(i1 %20)
  br label %21

21:                                               ; preds = %21, %16
  %22 = phi i64 [ %17, %16 ], [ %26, %21 ]
  %23 = phi i32 [ %18, %16 ], [ %30, %21 ]
  %24 = phi i64 [ %19, %16 ], [ %33, %21 ]
  %25 = phi i64 [ 0, %16 ], [ %34, %21 ]
  %26 = add nsw i64 %22, -1
  %27 = getelementptr inbounds nuw i64, ptr %3, i64 %26
  %28 = load i64, ptr %27, align 8
  %29 = icmp eq i64 %28, %24
  %30 = select i1 %29, i32 %23, i32 0
  %31 = getelementptr inbounds nuw i64, ptr %2, i64 %26
  %32 = load i64, ptr %31, align 8
  %33 = mul nsw i64 %32, %24
  %34 = add i64 %25, 1
  %35 = icmp eq i64 %34, %10
  br i1 %35, label %36, label %21, !llvm.loop !57

36:                                               ; preds = %21, %14
  %37 = phi i32 [ %77, %14 ], [ %30, %21 ]
  %38 = phi i64 [ %80, %14 ], [ %33, %21 ]
  %39 = icmp ne i32 %37, 0
  %40 = icmp sgt i64 %38, 1073741824
  %41 = zext i1 %40 to i8
  store i8 %41, ptr %4, align 1
  %42 = icmp slt i64 %38, 2
  %43 = select i1 %42, i1 true, i1 %39
  br i1 %43, label %83, label %89

44:                                               ; preds = %44, %12
  %45 = phi i64 [ %9, %12 ], [ %70, %44 ]
  %46 = phi i32 [ 1, %12 ], [ %77, %44 ]
  %47 = phi i64 [ 1, %12 ], [ %80, %44 ]
  %48 = phi i64 [ 0, %12 ], [ %81, %44 ]
  %49 = add nsw i64 %45, -1
  %50 = getelementptr inbounds nuw i64, ptr %3, i64 %49
  %51 = load i64, ptr %50, align 8
  %52 = icmp eq i64 %51, %47
  %53 = getelementptr inbounds nuw i64, ptr %2, i64 %49
  %54 = load i64, ptr %53, align 8
  %55 = mul nsw i64 %54, %47
  %56 = add nsw i64 %45, -2
  %57 = getelementptr inbounds nuw i64, ptr %3, i64 %56
  %58 = load i64, ptr %57, align 8
  %59 = icmp eq i64 %58, %55
  %60 = getelementptr inbounds nuw i64, ptr %2, i64 %56
  %61 = load i64, ptr %60, align 8
  %62 = mul nsw i64 %61, %55
  %63 = add nsw i64 %45, -3
  %64 = getelementptr inbounds nuw i64, ptr %3, i64 %63
  %65 = load i64, ptr %64, align 8
  %66 = icmp eq i64 %65, %62
  %67 = getelementptr inbounds nuw i64, ptr %2, i64 %63
  %68 = load i64, ptr %67, align 8
  %69 = mul nsw i64 %68, %62
  %70 = add nsw i64 %45, -4
  %71 = getelementptr inbounds nuw i64, ptr %3, i64 %70
  %72 = load i64, ptr %71, align 8
  %73 = icmp eq i64 %72, %69
  %74 = select i1 %73, i1 %66, i1 false
  %75 = select i1 %74, i1 %59, i1 false
  %76 = select i1 %75, i1 %52, i1 false
  %77 = select i1 %76, i32 %46, i32 0
  %78 = getelementptr inbounds nuw i64, ptr %2, i64 %70
  %79 = load i64, ptr %78, align 8
  %80 = mul nsw i64 %79, %69
  %81 = add i64 %48, 4
  %82 = icmp eq i64 %81, %13
  br i1 %82, label %14, label %44, !llvm.loop !58

83:                                               ; preds = %7, %36
  %84 = phi i64 [ 1, %7 ], [ %38, %36 ]
  %85 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %86 = load i64, ptr %85, align 8
  %87 = icmp slt i64 %84, %86
  %88 = zext i1 %87 to i32
  br label %89

89:                                               ; preds = %36, %83
  %90 = phi i32 [ %88, %83 ], [ 1, %36 ]
  ret i32 %90
}

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none)
define internal fastcc void @put_off(ptr noundef nonnull captures(none) %0, ptr noundef readonly captures(none) %1, i64 noundef %2, i32 noundef range(i32 0, 2) %3) unnamed_addr #13 {
  %5 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %8 = load ptr, ptr %7, align 8
  %9 = load ptr, ptr %0, align 8
  %10 = getelementptr inbounds nuw i8, ptr %9, i64 116
  %11 = load i32, ptr %10, align 4
  %12 = zext i32 %11 to i64
  %13 = getelementptr inbounds nuw i8, ptr %8, i64 %12
  %14 = shl i64 %6, 4
  %15 = getelementptr inbounds nuw i8, ptr %13, i64 %14
  %16 = load i32, ptr %1, align 8
  %17 = icmp eq i32 %16, 2
  %18 = icmp ne i32 %3, 0
  %19 = and i1 %18, %17
  br i1 %19, label %20, label %36

20:                                               ; preds = %4
  %21 = getelementptr inbounds nuw i8, ptr %9, i64 120
  %22 = load i32, ptr %21, align 8
  %23 = zext i32 %22 to i64
  %24 = getelementptr inbounds nuw i8, ptr %8, i64 %23
  %25 = getelementptr inbounds nuw i8, ptr %0, i64 16
  %26 = load i32, ptr %25, align 8
  %27 = shl i32 %26, 1
  %28 = zext i32 %27 to i64
  %29 = getelementptr inbounds nuw i64, ptr %24, i64 %28
  store i64 %6, ptr %29, align 8
  %30 = load i32, ptr %25, align 8
  %31 = add i32 %30, 1
  store i32 %31, ptr %25, align 8
  %32 = shl i32 %30, 1
  %33 = or disjoint i32 %32, 1
  %34 = zext i32 %33 to i64
  %35 = getelementptr inbounds nuw i64, ptr %24, i64 %34
  store i64 %2, ptr %35, align 8
  br label %43

36:                                               ; preds = %4
  %37 = icmp eq i32 %16, 1
  br i1 %37, label %38, label %43

38:                                               ; preds = %36
  %39 = getelementptr inbounds nuw i8, ptr %15, i64 8
  %40 = load i64, ptr %39, align 8
  %41 = icmp eq i64 %40, 0
  br i1 %41, label %42, label %43

42:                                               ; preds = %38
  store i64 %2, ptr %15, align 8
  store i64 1, ptr %39, align 8
  br label %43

43:                                               ; preds = %36, %38, %42, %20
  ret void
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 4) i32 @known_constant(ptr noundef nonnull readonly captures(none) %0, ptr noundef %1, ptr noundef writeonly captures(none) initializes((0, 8)) %2) unnamed_addr #3 {
  %4 = alloca ptr, align 8
  store ptr %1, ptr %4, align 8
  %5 = tail call i32 @has_lock() #20
  %6 = icmp eq i32 %5, 0
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr inbounds nuw i8, ptr %8, i64 32
  br i1 %6, label %12, label %10

10:                                               ; preds = %3
  %11 = load ptr, ptr %9, align 8
  br label %16

12:                                               ; preds = %3
  %13 = load atomic i64, ptr %9 seq_cst, align 8
  %14 = inttoptr i64 %13 to ptr
  %15 = load ptr, ptr %4, align 8
  br label %16

16:                                               ; preds = %12, %10
  %17 = phi ptr [ %1, %10 ], [ %15, %12 ]
  %18 = phi ptr [ %11, %10 ], [ %14, %12 ]
  store i64 0, ptr %2, align 8
  %19 = ptrtoint ptr %17 to i64
  %20 = lshr i64 %19, 4
  br label %21

21:                                               ; preds = %41, %16
  %22 = phi ptr [ %17, %16 ], [ %33, %41 ]
  %23 = phi i64 [ %20, %16 ], [ %43, %41 ]
  %24 = shl i64 %23, 1
  %25 = and i64 %24, 510
  %26 = getelementptr inbounds nuw i64, ptr %18, i64 %25
  br i1 %6, label %29, label %27

27:                                               ; preds = %21
  %28 = load i64, ptr %26, align 8
  br label %32

29:                                               ; preds = %21
  %30 = load atomic i64, ptr %26 seq_cst, align 8
  %31 = load ptr, ptr %4, align 8
  br label %32

32:                                               ; preds = %29, %27
  %33 = phi ptr [ %22, %27 ], [ %31, %29 ]
  %34 = phi i64 [ %28, %27 ], [ %30, %29 ]
  %35 = ptrtoint ptr %33 to i64
  %36 = icmp eq i64 %34, %35
  br i1 %36, label %37, label %41

37:                                               ; preds = %32
  %38 = getelementptr inbounds nuw i8, ptr %26, i64 8
  %39 = load i64, ptr %38, align 8
  %40 = getelementptr inbounds nuw i8, ptr %2, i64 8
  store i64 %39, ptr %40, align 8
  br label %66

41:                                               ; preds = %32
  %42 = icmp eq i64 %34, 0
  %43 = add i64 %23, 1
  br i1 %42, label %44, label %21

44:                                               ; preds = %41
  %45 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %46 = load ptr, ptr %45, align 8
  %47 = getelementptr inbounds nuw i8, ptr %46, i64 224
  %48 = load ptr, ptr %47, align 8
  %49 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %50 = load ptr, ptr %49, align 8
  %51 = getelementptr inbounds nuw i8, ptr %50, i64 56
  %52 = load ptr, ptr %51, align 8
  %53 = call ptr %48(ptr noundef %52, ptr noundef nonnull %4, i64 noundef 1, ptr noundef null) #23
  %54 = icmp eq ptr %53, null
  %55 = load ptr, ptr %45, align 8
  br i1 %54, label %56, label %58

56:                                               ; preds = %44
  %57 = call fastcc i32 @failed(ptr noundef %55) #22
  br label %66

58:                                               ; preds = %44
  %59 = getelementptr inbounds nuw i8, ptr %55, i64 120
  %60 = load ptr, ptr %59, align 8
  %61 = call i64 %60(ptr noundef nonnull %53) #23
  %62 = getelementptr inbounds nuw i8, ptr %2, i64 8
  store i64 %61, ptr %62, align 8
  %63 = load ptr, ptr %45, align 8
  %64 = getelementptr inbounds nuw i8, ptr %63, i64 192
  %65 = load ptr, ptr %64, align 8
  call void %65(ptr noundef nonnull %53) #23
  br label %66

66:                                               ; preds = %37, %56, %58
  %67 = phi i32 [ 0, %37 ], [ 0, %58 ], [ %57, %56 ]
  ret i32 %67
}

; Function Attrs: nofree noinline norecurse nosync nounwind memory(read, argmem: readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none)
define internal fastcc range(i32 0, 2) i32 @evaluate(ptr noundef nonnull readonly captures(none) %0, ptr noundef readonly captures(none) %1, ptr noundef nonnull writeonly captures(none) %2) unnamed_addr #14 {
  %4 = alloca [32 x i64], align 16
  call void @llvm.lifetime.start.p0(ptr nonnull %4) #21
  %5 = getelementptr inbounds i8, ptr %4, i64 -8
  %6 = getelementptr inbounds nuw i8, ptr %0, i64 8
  br label %7

7:                                                ; preds = %82, %3
  %8 = phi i64 [ undef, %3 ], [ %83, %82 ]
  %9 = phi ptr [ %5, %3 ], [ %84, %82 ]
  %10 = phi ptr [ %1, %3 ], [ %85, %82 ]
  %11 = load i64, ptr %10, align 8
  switch i64 %11, label %41 [
    i64 0, label %86
    i64 1, label %12
    i64 2, label %16
  ]

12:                                               ; preds = %7
  %13 = getelementptr inbounds nuw i8, ptr %10, i64 8
  %14 = load i64, ptr %13, align 8
  %15 = getelementptr inbounds nuw i8, ptr %9, i64 8
  store i64 %14, ptr %15, align 8
  br label %82

16:                                               ; preds = %7
  %17 = load ptr, ptr %6, align 8
  %18 = load ptr, ptr %0, align 8
  %19 = getelementptr inbounds nuw i8, ptr %18, i64 96
  %20 = load i32, ptr %19, align 8
  %21 = zext i32 %20 to i64
  %22 = getelementptr inbounds nuw i8, ptr %17, i64 %21
  %23 = getelementptr inbounds nuw i8, ptr %18, i64 100
  %24 = load i32, ptr %23, align 4
  %25 = zext i32 %24 to i64
  %26 = getelementptr inbounds nuw i8, ptr %22, i64 %25
  %27 = getelementptr inbounds nuw i8, ptr %10, i64 8
  %28 = load i64, ptr %27, align 8
  %29 = shl nsw i64 %28, 1
  %30 = getelementptr inbounds i8, ptr %26, i64 %29
  %31 = load i8, ptr %30, align 1
  %32 = icmp eq i8 %31, 0
  br i1 %32, label %87, label %33

33:                                               ; preds = %16
  %34 = getelementptr inbounds nuw i8, ptr %18, i64 60
  %35 = load i32, ptr %34, align 4
  %36 = zext i32 %35 to i64
  %37 = getelementptr inbounds nuw i8, ptr %17, i64 %36
  %38 = getelementptr inbounds i64, ptr %37, i64 %28
  %39 = load i64, ptr %38, align 8
  %40 = getelementptr inbounds nuw i8, ptr %9, i64 8
  store i64 %39, ptr %40, align 8
  br label %82

41:                                               ; preds = %7
  %42 = getelementptr inbounds i8, ptr %9, i64 -8
  %43 = load i64, ptr %42, align 8
  %44 = and i64 %11, -2
  %45 = icmp eq i64 %44, 6
  br i1 %45, label %46, label %52

46:                                               ; preds = %41
  %47 = icmp eq i64 %8, 0
  br i1 %47, label %87, label %48

48:                                               ; preds = %46
  %49 = icmp eq i64 %8, -1
  %50 = icmp eq i64 %43, -9223372036854775808
  %51 = select i1 %49, i1 %50, i1 false
  br i1 %51, label %87, label %52

52:                                               ; preds = %41, %48
  switch i64 %11, label %78 [
    i64 3, label %53
    i64 4, label %55
    i64 8, label %57
    i64 9, label %59
    i64 6, label %61
    i64 7, label %70
  ]

53:                                               ; preds = %52
  %54 = add i64 %43, %8
  store i64 %54, ptr %42, align 8
  br label %82

55:                                               ; preds = %52
  %56 = sub i64 %43, %8
  store i64 %56, ptr %42, align 8
  br label %82

57:                                               ; preds = %52
  %58 = tail call i64 @llvm.smin.i64(i64 %43, i64 %8)
  store i64 %58, ptr %42, align 8
  br label %82

59:                                               ; preds = %52
  %60 = tail call i64 @llvm.smax.i64(i64 %43, i64 %8)
  store i64 %60, ptr %42, align 8
  br label %82

61:                                               ; preds = %52
  %62 = sdiv i64 %43, %8
  %63 = srem i64 %43, %8
  %64 = icmp ne i64 %63, 0
  %65 = xor i64 %43, %8
  %66 = icmp slt i64 %65, 0
  %67 = and i1 %66, %64
  %68 = sext i1 %67 to i64
  %69 = add i64 %62, %68
  store i64 %69, ptr %42, align 8
  br label %82

70:                                               ; preds = %52
  %71 = srem i64 %43, %8
  %72 = icmp eq i64 %71, 0
  %73 = xor i64 %43, %8
  %74 = icmp slt i64 %73, 0
  %75 = select i1 %74, i64 %8, i64 0
  %76 = select i1 %72, i64 0, i64 %75
  %77 = add nsw i64 %76, %71
  store i64 %77, ptr %42, align 8
  br label %82

78:                                               ; preds = %52
  %79 = tail call { i64, i1 } @llvm.smul.with.overflow.i64(i64 %43, i64 %8)
  %80 = extractvalue { i64, i1 } %79, 1
  %81 = extractvalue { i64, i1 } %79, 0
  store i64 %81, ptr %42, align 8
  br i1 %80, label %87, label %82

82:                                               ; preds = %53, %57, %61, %78, %70, %59, %55, %12, %33
  %83 = phi i64 [ %14, %12 ], [ %39, %33 ], [ %56, %55 ], [ %60, %59 ], [ %77, %70 ], [ %81, %78 ], [ %69, %61 ], [ %58, %57 ], [ %54, %53 ]
  %84 = phi ptr [ %15, %12 ], [ %40, %33 ], [ %42, %55 ], [ %42, %59 ], [ %42, %70 ], [ %42, %78 ], [ %42, %61 ], [ %42, %57 ], [ %42, %53 ]
  %85 = getelementptr inbounds nuw i8, ptr %10, i64 16
  br label %7, !llvm.loop !59

86:                                               ; preds = %7
  store i64 %8, ptr %2, align 8
  br label %87

87:                                               ; preds = %46, %48, %78, %16, %86
  %88 = phi i32 [ 0, %86 ], [ 1, %16 ], [ 1, %78 ], [ 1, %48 ], [ 1, %46 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %4) #21
  ret i32 %88
}

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare { i64, i1 } @llvm.smul.with.overflow.i64(i64, i64) #15

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 4) i32 @other_number(ptr noundef nonnull readonly captures(none) %0, ptr noundef readonly captures(none) %1) unnamed_addr #3 {
  %3 = getelementptr inbounds nuw i8, ptr %0, i64 40
  %4 = load ptr, ptr %3, align 8
  %5 = load i16, ptr %1, align 4
  %6 = zext i16 %5 to i64
  %7 = getelementptr inbounds nuw ptr, ptr %4, i64 %6
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr inbounds nuw i8, ptr %1, i64 2
  %10 = load i16, ptr %9, align 2
  %11 = icmp eq i16 %10, -1
  br i1 %11, label %24, label %12

12:                                               ; preds = %2
  %13 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %14 = load ptr, ptr %13, align 8
  %15 = load ptr, ptr %0, align 8
  %16 = getelementptr inbounds nuw i8, ptr %15, i64 124
  %17 = load i32, ptr %16, align 4
  %18 = zext i32 %17 to i64
  %19 = getelementptr inbounds nuw i8, ptr %14, i64 %18
  %20 = zext i16 %10 to i64
  %21 = getelementptr inbounds nuw i8, ptr %19, i64 %20
  %22 = load i8, ptr %21, align 1
  %23 = icmp eq i8 %22, 0
  br i1 %23, label %53, label %24

24:                                               ; preds = %2, %12
  %25 = getelementptr inbounds nuw i8, ptr %1, i64 16
  %26 = load i32, ptr %25, align 4
  %27 = icmp eq i32 %26, 0
  br i1 %27, label %43, label %28

28:                                               ; preds = %24
  %29 = tail call i64 @object_head() #20
  %30 = getelementptr inbounds i8, ptr %8, i64 %29
  %31 = getelementptr inbounds i8, ptr %30, i64 -8
  %32 = load ptr, ptr %31, align 8
  %33 = ptrtoint ptr %32 to i64
  %34 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %35 = load ptr, ptr %34, align 8
  %36 = load ptr, ptr %0, align 8
  %37 = getelementptr inbounds nuw i8, ptr %36, i64 96
  %38 = load i32, ptr %37, align 8
  %39 = zext i32 %38 to i64
  %40 = getelementptr inbounds nuw i8, ptr %35, i64 %39
  %41 = zext i32 %26 to i64
  %42 = getelementptr inbounds nuw i64, ptr %40, i64 %41
  store i64 %33, ptr %42, align 8
  br label %53

43:                                               ; preds = %24
  %44 = getelementptr inbounds nuw i8, ptr %1, i64 12
  %45 = load i32, ptr %44, align 4
  %46 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %47 = load ptr, ptr %46, align 8
  %48 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %49 = load i32, ptr %48, align 4
  %50 = zext i32 %49 to i64
  %51 = getelementptr inbounds nuw i8, ptr %47, i64 %50
  %52 = tail call fastcc i32 @number(ptr noundef %0, ptr noundef %8, i32 noundef %45, ptr noundef %51) #22
  br label %53

53:                                               ; preds = %12, %43, %28
  %54 = phi i32 [ %52, %43 ], [ 0, %28 ], [ 0, %12 ]
  ret i32 %54
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 4) i32 @number(ptr noundef nonnull readonly captures(none) %0, ptr noundef %1, i32 noundef %2, ptr noundef captures(none) %3) unnamed_addr #3 {
  %5 = alloca ptr, align 8
  store ptr %1, ptr %5, align 8
  %6 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %7 = load ptr, ptr %6, align 8
  %8 = tail call i64 @object_head() #20
  %9 = getelementptr inbounds i8, ptr %1, i64 %8
  %10 = getelementptr inbounds i8, ptr %9, i64 -8
  %11 = load ptr, ptr %10, align 8
  %12 = getelementptr inbounds nuw i8, ptr %7, i64 32
  %13 = load ptr, ptr %12, align 8
  %14 = icmp eq ptr %11, %13
  br i1 %14, label %23, label %15

15:                                               ; preds = %4
  %16 = getelementptr inbounds nuw i8, ptr %7, i64 56
  %17 = load ptr, ptr %16, align 8
  %18 = icmp eq ptr %11, %17
  br i1 %18, label %23, label %19

19:                                               ; preds = %15
  %20 = getelementptr inbounds nuw i8, ptr %7, i64 320
  %21 = load ptr, ptr %20, align 8
  %22 = icmp eq ptr %11, %21
  br i1 %22, label %23, label %25

23:                                               ; preds = %19, %15, %4
  %24 = tail call fastcc i32 @exactly(ptr noundef %0, ptr noundef nonnull %1, i32 noundef %2, ptr noundef %3) #22
  br label %40

25:                                               ; preds = %19
  %26 = getelementptr inbounds nuw i8, ptr %7, i64 224
  %27 = load ptr, ptr %26, align 8
  %28 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %29 = load ptr, ptr %28, align 8
  %30 = getelementptr inbounds nuw i8, ptr %29, i64 48
  %31 = load ptr, ptr %30, align 8
  %32 = call ptr %27(ptr noundef %31, ptr noundef nonnull %5, i64 noundef 1, ptr noundef null) #23
  %33 = icmp eq ptr %32, null
  br i1 %33, label %34, label %36

34:                                               ; preds = %25
  %35 = call fastcc i32 @failed(ptr noundef nonnull %7) #22
  br label %40

36:                                               ; preds = %25
  %37 = call fastcc i32 @exactly(ptr noundef %0, ptr noundef nonnull %32, i32 noundef %2, ptr noundef %3) #22
  %38 = getelementptr inbounds nuw i8, ptr %7, i64 192
  %39 = load ptr, ptr %38, align 8
  call void %39(ptr noundef nonnull %32) #23
  br label %40

40:                                               ; preds = %34, %36, %23
  %41 = phi i32 [ %24, %23 ], [ %37, %36 ], [ %35, %34 ]
  ret i32 %41
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 2) i32 @exactly(ptr noundef nonnull readonly captures(none) %0, ptr noundef %1, i32 noundef %2, ptr noundef captures(none) %3) unnamed_addr #3 {
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %6 = load ptr, ptr %5, align 8
  %7 = tail call i64 @object_head() #20
  %8 = getelementptr inbounds i8, ptr %1, i64 %7
  %9 = getelementptr inbounds i8, ptr %8, i64 -8
  %10 = load ptr, ptr %9, align 8
  %11 = icmp ugt i32 %2, 15
  br i1 %11, label %12, label %40

12:                                               ; preds = %4
  %13 = getelementptr inbounds nuw i8, ptr %6, i64 32
  %14 = load ptr, ptr %13, align 8
  %15 = icmp eq ptr %10, %14
  br i1 %15, label %16, label %169

16:                                               ; preds = %12
  %17 = getelementptr inbounds nuw i8, ptr %6, i64 128
  %18 = load ptr, ptr %17, align 8
  %19 = tail call i64 %18(ptr noundef nonnull %1) #23
  store i64 %19, ptr %3, align 8
  %20 = icmp eq i64 %19, -1
  br i1 %20, label %21, label %31

21:                                               ; preds = %16
  %22 = getelementptr inbounds nuw i8, ptr %6, i64 160
  %23 = load ptr, ptr %22, align 8
  %24 = tail call ptr %23() #23
  %25 = icmp eq ptr %24, null
  br i1 %25, label %26, label %28

26:                                               ; preds = %21
  %27 = load i64, ptr %3, align 8
  br label %31

28:                                               ; preds = %21
  %29 = getelementptr inbounds nuw i8, ptr %6, i64 168
  %30 = load ptr, ptr %29, align 8
  tail call void %30() #23
  br label %169

31:                                               ; preds = %26, %16
  %32 = phi i64 [ %27, %26 ], [ %19, %16 ]
  %33 = add i32 %2, -16
  %34 = zext nneg i32 %33 to i64
  %35 = shl nsw i64 -1, %34
  %36 = xor i64 %35, -1
  %37 = and i64 %32, %36
  %38 = icmp ne i64 %37, 0
  %39 = zext i1 %38 to i32
  br label %169

40:                                               ; preds = %4
  %41 = icmp eq i32 %2, 0
  br i1 %41, label %42, label %51

42:                                               ; preds = %40
  %43 = getelementptr inbounds nuw i8, ptr %6, i64 304
  %44 = load ptr, ptr %43, align 8
  %45 = icmp eq ptr %1, %44
  %46 = zext i1 %45 to i64
  store i64 %46, ptr %3, align 8
  %47 = getelementptr inbounds nuw i8, ptr %6, i64 320
  %48 = load ptr, ptr %47, align 8
  %49 = icmp ne ptr %10, %48
  %50 = zext i1 %49 to i32
  br label %169

51:                                               ; preds = %40
  %52 = icmp samesign ult i32 %2, 9
  br i1 %52, label %53, label %142

53:                                               ; preds = %51
  %54 = getelementptr inbounds nuw i8, ptr %6, i64 32
  %55 = load ptr, ptr %54, align 8
  %56 = icmp eq ptr %10, %55
  br i1 %56, label %61, label %57

57:                                               ; preds = %53
  %58 = getelementptr inbounds nuw i8, ptr %6, i64 320
  %59 = load ptr, ptr %58, align 8
  %60 = icmp eq ptr %10, %59
  br i1 %60, label %61, label %169

61:                                               ; preds = %57, %53
  %62 = icmp eq i32 %2, 8
  br i1 %62, label %63, label %76

63:                                               ; preds = %61
  %64 = getelementptr inbounds nuw i8, ptr %6, i64 128
  %65 = load ptr, ptr %64, align 8
  %66 = tail call i64 %65(ptr noundef nonnull %1) #23
  store i64 %66, ptr %3, align 8
  %67 = icmp eq i64 %66, -1
  br i1 %67, label %68, label %169

68:                                               ; preds = %63
  %69 = getelementptr inbounds nuw i8, ptr %6, i64 160
  %70 = load ptr, ptr %69, align 8
  %71 = tail call ptr %70() #23
  %72 = icmp eq ptr %71, null
  br i1 %72, label %169, label %73

73:                                               ; preds = %68
  %74 = getelementptr inbounds nuw i8, ptr %6, i64 168
  %75 = load ptr, ptr %74, align 8
  tail call void %75() #23
  br label %169

76:                                               ; preds = %61
  %77 = icmp samesign ult i32 %2, 5
  br i1 %77, label %78, label %84

78:                                               ; preds = %76
  switch i32 %2, label %80 [
    i32 4, label %91
    i32 3, label %81
    i32 2, label %79
  ]

79:                                               ; preds = %78
  br label %81

80:                                               ; preds = %78
  br label %81

81:                                               ; preds = %79, %78, %80
  %82 = phi i64 [ 32, %78 ], [ 56, %80 ], [ 48, %79 ]
  %83 = ashr exact i64 -9223372036854775808, %82
  br label %84

84:                                               ; preds = %76, %81
  %85 = phi i64 [ %83, %81 ], [ 0, %76 ]
  %86 = and i32 %2, 3
  %87 = icmp eq i32 %86, 3
  br i1 %87, label %91, label %88

88:                                               ; preds = %84
  %89 = icmp eq i32 %86, 2
  %90 = select i1 %89, i64 48, i64 56
  br label %91

91:                                               ; preds = %78, %84, %88
  %92 = phi i1 [ false, %84 ], [ false, %88 ], [ true, %78 ]
  %93 = phi i64 [ %85, %84 ], [ %85, %88 ], [ -9223372036854775808, %78 ]
  %94 = phi i64 [ 32, %84 ], [ %90, %88 ], [ 0, %78 ]
  %95 = lshr i64 -1, %94
  %96 = zext i1 %77 to i64
  %97 = lshr i64 %95, %96
  %98 = load i64, ptr %8, align 8
  %99 = getelementptr inbounds nuw i8, ptr %6, i64 48
  %100 = load i64, ptr %99, align 8
  %101 = xor i64 %100, -1
  %102 = and i64 %98, %101
  %103 = getelementptr inbounds nuw i8, ptr %6, i64 40
  %104 = load i64, ptr %103, align 8
  %105 = icmp eq i64 %102, %104
  br i1 %105, label %106, label %110

106:                                              ; preds = %91
  %107 = getelementptr inbounds nuw i8, ptr %8, i64 8
  %108 = load i32, ptr %107, align 4
  %109 = zext i32 %108 to i64
  br label %123

110:                                              ; preds = %91
  %111 = getelementptr inbounds nuw i8, ptr %6, i64 120
  %112 = load ptr, ptr %111, align 8
  %113 = tail call i64 %112(ptr noundef nonnull %1) #23
  %114 = icmp eq i64 %113, -1
  br i1 %114, label %115, label %123

115:                                              ; preds = %110
  %116 = getelementptr inbounds nuw i8, ptr %6, i64 160
  %117 = load ptr, ptr %116, align 8
  %118 = tail call ptr %117() #23
  %119 = icmp eq ptr %118, null
  br i1 %119, label %123, label %120

120:                                              ; preds = %115
  %121 = getelementptr inbounds nuw i8, ptr %6, i64 168
  %122 = load ptr, ptr %121, align 8
  tail call void %122() #23
  br label %129

123:                                              ; preds = %115, %110, %106
  %124 = phi i64 [ -1, %115 ], [ %113, %110 ], [ %109, %106 ]
  %125 = icmp slt i64 %124, %93
  %126 = icmp sgt i64 %124, %97
  %127 = select i1 %125, i1 true, i1 %126
  %128 = zext i1 %127 to i32
  br label %129

129:                                              ; preds = %120, %123
  %130 = phi i64 [ %124, %123 ], [ -1, %120 ]
  %131 = phi i32 [ %128, %123 ], [ 1, %120 ]
  br i1 %92, label %138, label %132

132:                                              ; preds = %129
  %133 = and i32 %2, 3
  %134 = icmp eq i32 %133, 3
  br i1 %134, label %138, label %135

135:                                              ; preds = %132
  %136 = icmp eq i32 %133, 2
  %137 = select i1 %136, i64 48, i64 56
  br label %138

138:                                              ; preds = %129, %132, %135
  %139 = phi i64 [ 0, %129 ], [ %137, %135 ], [ 32, %132 ]
  %140 = lshr i64 -1, %139
  %141 = and i64 %140, %130
  store i64 %141, ptr %3, align 8
  br label %169

142:                                              ; preds = %51
  %143 = getelementptr inbounds nuw i8, ptr %6, i64 56
  %144 = load ptr, ptr %143, align 8
  %145 = icmp eq ptr %10, %144
  br i1 %145, label %146, label %148

146:                                              ; preds = %142
  %147 = load i64, ptr %8, align 8
  br label %166

148:                                              ; preds = %142
  %149 = getelementptr inbounds nuw i8, ptr %6, i64 32
  %150 = load ptr, ptr %149, align 8
  %151 = icmp eq ptr %10, %150
  br i1 %151, label %152, label %169

152:                                              ; preds = %148
  %153 = getelementptr inbounds nuw i8, ptr %6, i64 136
  %154 = load ptr, ptr %153, align 8
  %155 = tail call double %154(ptr noundef nonnull %1) #23
  %156 = bitcast double %155 to i64
  %157 = icmp eq i64 %156, -4616189618054758400
  br i1 %157, label %158, label %166

158:                                              ; preds = %152
  %159 = getelementptr inbounds nuw i8, ptr %6, i64 160
  %160 = load ptr, ptr %159, align 8
  %161 = tail call ptr %160() #23
  %162 = icmp eq ptr %161, null
  br i1 %162, label %166, label %163

163:                                              ; preds = %158
  %164 = getelementptr inbounds nuw i8, ptr %6, i64 168
  %165 = load ptr, ptr %164, align 8
  tail call void %165() #23
  br label %169

166:                                              ; preds = %152, %158, %146
  %167 = phi i64 [ %156, %152 ], [ -4616189618054758400, %158 ], [ %147, %146 ]
  %168 = tail call fastcc i32 @fit_float(i64 noundef %167, i32 noundef %2, ptr noundef %3) #22
  br label %169

169:                                              ; preds = %148, %63, %68, %57, %12, %166, %163, %138, %73, %42, %31, %28
  %170 = phi i32 [ 1, %163 ], [ 1, %28 ], [ %39, %31 ], [ %50, %42 ], [ 1, %12 ], [ 1, %73 ], [ 1, %57 ], [ %131, %138 ], [ %168, %166 ], [ 0, %63 ], [ 0, %68 ], [ 1, %148 ]
  ret i32 %170
}

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: readwrite)
define internal fastcc range(i32 0, 2) i32 @fit_float(i64 noundef %0, i32 noundef range(i32 9, 16) %1, ptr noundef captures(none) initializes((0, 8)) %2) unnamed_addr #11 {
  %4 = tail call fastcc i32 @rounded(i64 noundef %0, i32 noundef %1, ptr noundef %2) #22
  ret i32 %4
}

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: readwrite)
define internal fastcc range(i32 0, 2) i32 @rounded(i64 noundef %0, i32 noundef range(i32 9, 16) %1, ptr noundef captures(none) initializes((0, 8)) %2) unnamed_addr #11 {
  %4 = and i64 %0, 9223372036854775807
  switch i32 %1, label %24 [
    i32 12, label %5
    i32 11, label %6
    i32 9, label %14
    i32 10, label %16
    i32 15, label %18
    i32 14, label %20
  ]

5:                                                ; preds = %3
  store i64 %0, ptr %2, align 8
  br label %28

6:                                                ; preds = %3
  %7 = bitcast i64 %0 to double
  %8 = fptrunc double %7 to float
  %9 = bitcast float %8 to i32
  %10 = zext i32 %9 to i64
  store i64 %10, ptr %2, align 8
  %11 = add nsw i64 %4, -5183643170835005440
  %12 = icmp ult i64 %11, 4035225266392399872
  %13 = zext i1 %12 to i32
  br label %28

14:                                               ; preds = %3
  %15 = tail call fastcc i32 @narrow(i64 noundef %0, i32 noundef 5, i32 noundef 10, i32 noundef 1, ptr noundef %2) #22
  br label %28

16:                                               ; preds = %3
  %17 = tail call fastcc i32 @narrow(i64 noundef %0, i32 noundef 8, i32 noundef 7, i32 noundef 1, ptr noundef %2) #22
  br label %28

18:                                               ; preds = %3
  %19 = tail call fastcc i32 @narrow(i64 noundef %0, i32 noundef 5, i32 noundef 2, i32 noundef 1, ptr noundef %2) #22
  br label %28

20:                                               ; preds = %3
  %21 = tail call fastcc i32 @narrow(i64 noundef %0, i32 noundef 4, i32 noundef 3, i32 noundef 0, ptr noundef %2) #22
  %22 = icmp eq i64 %4, 4646870390516219904
  %23 = select i1 %22, i32 1, i32 %21
  br label %28

24:                                               ; preds = %3
  %25 = tail call fastcc i32 @narrow(i64 noundef %0, i32 noundef 8, i32 noundef 10, i32 noundef 1, ptr noundef %2) #22
  %26 = load i64, ptr %2, align 8
  %27 = shl i64 %26, 13
  store i64 %27, ptr %2, align 8
  br label %28

28:                                               ; preds = %24, %20, %18, %16, %14, %6, %5
  %29 = phi i32 [ 0, %5 ], [ %13, %6 ], [ %15, %14 ], [ %17, %16 ], [ %19, %18 ], [ %23, %20 ], [ %25, %24 ]
  ret i32 %29
}

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: write)
define internal fastcc range(i32 0, 2) i32 @narrow(i64 noundef %0, i32 noundef range(i32 4, 9) %1, i32 noundef range(i32 2, 11) %2, i32 noundef range(i32 0, 2) %3, ptr noundef writeonly captures(none) initializes((0, 8)) %4) unnamed_addr #16 {
  %6 = lshr i64 %0, 63
  %7 = add nuw nsw i32 %2, %1
  %8 = zext nneg i32 %7 to i64
  %9 = shl nuw nsw i64 %6, %8
  %10 = shl nsw i64 -1, %8
  %11 = xor i64 %10, -1
  %12 = zext nneg i32 %2 to i64
  %13 = shl nsw i64 -1, %12
  %14 = icmp eq i32 %3, 0
  %15 = select i1 %14, i64 2147483647, i64 %13
  %16 = and i64 %15, %11
  %17 = and i64 %0, 4503599627370495
  %18 = lshr i64 %0, 52
  %19 = and i64 %18, 2047
  %20 = icmp eq i64 %19, 2047
  br i1 %20, label %21, label %31

21:                                               ; preds = %5
  %22 = icmp eq i64 %17, 0
  %23 = add nsw i32 %2, -1
  %24 = zext nneg i32 %23 to i64
  %25 = shl nuw nsw i64 1, %24
  %26 = or i64 %16, %25
  %27 = select i1 %14, i64 %11, i64 %26
  %28 = select i1 %22, i64 %16, i64 %27
  %29 = or i64 %28, %9
  store i64 %29, ptr %4, align 8
  %30 = and i1 %22, %14
  br label %67

31:                                               ; preds = %5
  %32 = add nsw i64 %19, -1023
  %33 = add nsw i32 %1, -1
  %34 = zext nneg i32 %33 to i64
  %35 = shl nsw i64 -1, %34
  %36 = add nuw nsw i64 %35, 2
  %37 = icmp eq i64 %19, 0
  %38 = select i1 %37, i64 0, i64 4503599627370496
  %39 = or disjoint i64 %38, %17
  %40 = tail call i64 @llvm.smax.i64(i64 %32, i64 %36)
  %41 = sub nuw nsw i32 52, %2
  %42 = zext nneg i32 %41 to i64
  %43 = sub nsw i64 %42, %19
  %44 = add nsw i64 %43, 1023
  %45 = add nsw i64 %44, %40
  %46 = tail call i64 @llvm.smin.i64(i64 %45, i64 63)
  %47 = lshr i64 %39, %46
  %48 = shl nuw i64 1, %46
  %49 = add nuw i64 %48, 9007199254740991
  %50 = and i64 %49, %39
  %51 = lshr i64 %48, 1
  %52 = sub nsw i64 %40, %36
  %53 = shl nsw i64 %52, %12
  %54 = add nsw i64 %47, %53
  %55 = icmp samesign ugt i64 %50, %51
  br i1 %55, label %62, label %56

56:                                               ; preds = %31
  %57 = icmp eq i64 %50, %51
  %58 = and i64 %47, 1
  %59 = icmp ne i64 %58, 0
  %60 = select i1 %57, i1 %59, i1 false
  %61 = zext i1 %60 to i64
  br label %62

62:                                               ; preds = %56, %31
  %63 = phi i64 [ 1, %31 ], [ %61, %56 ]
  %64 = add nsw i64 %54, %63
  %65 = or i64 %64, %9
  store i64 %65, ptr %4, align 8
  %66 = icmp uge i64 %64, %16
  br label %67

67:                                               ; preds = %62, %21
  %68 = phi i1 [ %30, %21 ], [ %66, %62 ]
  %69 = zext i1 %68 to i32
  ret i32 %69
}

; Function Attrs: nofree noinline nounwind memory(read, argmem: readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none)
define internal fastcc noundef ptr @search(ptr noundef readonly captures(none) %0, ptr noundef captures(none) %1, ptr noundef readonly captures(none) %2) unnamed_addr #17 {
  %4 = getelementptr inbounds nuw i8, ptr %0, i64 68
  %5 = load i32, ptr %4, align 4
  %6 = icmp eq i32 %5, 0
  br i1 %6, label %32, label %7

7:                                                ; preds = %3
  %8 = zext i32 %5 to i64
  %9 = and i64 %8, 3
  %10 = icmp ult i32 %5, 4
  br i1 %10, label %15, label %11

11:                                               ; preds = %7
  %12 = and i64 %8, 4294967292
  br label %43

13:                                               ; preds = %43
  %14 = icmp eq i64 %9, 0
  br i1 %14, label %32, label %15

15:                                               ; preds = %13, %7
  %16 = phi i64 [ 0, %7 ], [ %74, %13 ]
  %17 = phi i64 [ 0, %7 ], [ %73, %13 ]
  %18 = icmp ne i64 %9, 0
  tail call void @llvm.assume(i1 %18)
  br label %19

19:                                               ; preds = %19, %15
  %20 = phi i64 [ %16, %15 ], [ %29, %19 ]
  %21 = phi i64 [ %17, %15 ], [ %28, %19 ]
  %22 = phi i64 [ 0, %15 ], [ %30, %19 ]
  %23 = getelementptr inbounds nuw i64, ptr %2, i64 %20
  %24 = load i64, ptr %23, align 8
  %25 = xor i64 %24, %21
  %26 = mul i64 %25, -7046029254386353131
  %27 = lshr i64 %26, 29
  %28 = xor i64 %27, %26
  %29 = add nuw nsw i64 %20, 1
  %30 = add i64 %22, 1
  %31 = icmp eq i64 %30, %9
  br i1 %31, label %32, label %19, !llvm.loop !60

32:                                               ; preds = %13, %19, %3
  %33 = phi i64 [ 0, %3 ], [ %73, %13 ], [ %28, %19 ]
  %34 = getelementptr inbounds nuw i8, ptr %1, i64 24
  %35 = load i64, ptr %1, align 8
  %36 = and i64 %35, %33
  %37 = getelementptr inbounds nuw ptr, ptr %34, i64 %36
  %38 = load ptr, ptr %37, align 8
  %39 = icmp eq ptr %38, null
  br i1 %39, label %112, label %40

40:                                               ; preds = %32
  %41 = getelementptr inbounds nuw i8, ptr %0, i64 76
  %42 = zext i32 %5 to i64
  br label %77

43:                                               ; preds = %43, %11
  %44 = phi i64 [ 0, %11 ], [ %74, %43 ]
  %45 = phi i64 [ 0, %11 ], [ %73, %43 ]
  %46 = phi i64 [ 0, %11 ], [ %75, %43 ]
  %47 = getelementptr inbounds nuw i64, ptr %2, i64 %44
  %48 = load i64, ptr %47, align 8
  %49 = xor i64 %48, %45
  %50 = mul i64 %49, -7046029254386353131
  %51 = lshr i64 %50, 29
  %52 = getelementptr inbounds nuw i64, ptr %2, i64 %44
  %53 = getelementptr inbounds nuw i8, ptr %52, i64 8
  %54 = load i64, ptr %53, align 8
  %55 = xor i64 %51, %54
  %56 = xor i64 %55, %50
  %57 = mul i64 %56, -7046029254386353131
  %58 = lshr i64 %57, 29
  %59 = getelementptr inbounds nuw i64, ptr %2, i64 %44
  %60 = getelementptr inbounds nuw i8, ptr %59, i64 16
  %61 = load i64, ptr %60, align 8
  %62 = xor i64 %58, %61
  %63 = xor i64 %62, %57
  %64 = mul i64 %63, -7046029254386353131
  %65 = lshr i64 %64, 29
  %66 = getelementptr inbounds nuw i64, ptr %2, i64 %44
  %67 = getelementptr inbounds nuw i8, ptr %66, i64 24
  %68 = load i64, ptr %67, align 8
  %69 = xor i64 %65, %68
  %70 = xor i64 %69, %64
  %71 = mul i64 %70, -7046029254386353131
  %72 = lshr i64 %71, 29
  %73 = xor i64 %72, %71
  %74 = add nuw nsw i64 %44, 4
  %75 = add i64 %46, 4
  %76 = icmp eq i64 %75, %12
  br i1 %76, label %13, label %43, !llvm.loop !61

77:                                               ; preds = %40, %106
  %78 = phi ptr [ %38, %40 ], [ %110, %106 ]
  %79 = phi i64 [ %33, %40 ], [ %107, %106 ]
  %80 = load i64, ptr %78, align 8
  %81 = icmp eq i64 %80, %33
  br i1 %81, label %82, label %106

82:                                               ; preds = %77
  %83 = load i32, ptr %41, align 4
  %84 = zext i32 %83 to i64
  %85 = getelementptr inbounds nuw i8, ptr %78, i64 %84
  br i1 %6, label %99, label %86

86:                                               ; preds = %82, %93
  %87 = phi i64 [ %94, %93 ], [ 0, %82 ]
  %88 = getelementptr inbounds nuw i64, ptr %85, i64 %87
  %89 = load i64, ptr %88, align 8
  %90 = getelementptr inbounds nuw i64, ptr %2, i64 %87
  %91 = load i64, ptr %90, align 8
  %92 = icmp eq i64 %89, %91
  br i1 %92, label %93, label %96

93:                                               ; preds = %86
  %94 = add nuw nsw i64 %87, 1
  %95 = icmp eq i64 %94, %42
  br i1 %95, label %99, label %86, !llvm.loop !62

96:                                               ; preds = %86
  %97 = trunc nuw i64 %87 to i32
  %98 = icmp eq i32 %5, %97
  br i1 %98, label %99, label %106

99:                                               ; preds = %82, %96, %93
  %100 = tail call i32 @has_lock() #20
  %101 = icmp eq i32 %100, 0
  %102 = getelementptr inbounds nuw i8, ptr %1, i64 16
  br i1 %101, label %104, label %103

103:                                              ; preds = %99
  store ptr %78, ptr %102, align 8
  br label %112

104:                                              ; preds = %99
  %105 = ptrtoint ptr %78 to i64
  store atomic i64 %105, ptr %102 release, align 8
  br label %112

106:                                              ; preds = %77, %96
  %107 = add i64 %79, 1
  %108 = and i64 %35, %107
  %109 = getelementptr inbounds nuw ptr, ptr %34, i64 %108
  %110 = load ptr, ptr %109, align 8
  %111 = icmp eq ptr %110, null
  br i1 %111, label %112, label %77

112:                                              ; preds = %106, %32, %103, %104
  %113 = phi ptr [ %78, %104 ], [ %78, %103 ], [ null, %32 ], [ null, %106 ]
  ret ptr %113
}

; Function Attrs: nounwind
define internal fastcc range(i32 0, 2) i32 @tensor_map(ptr noundef nonnull readonly captures(none) %0, ptr noundef %1, ptr noundef readonly captures(none) %2, i64 noundef %3, ptr noundef writeonly captures(none) %4) unnamed_addr #0 {
  %6 = getelementptr inbounds nuw i8, ptr %2, i64 24
  %7 = load ptr, ptr %6, align 8
  %8 = getelementptr inbounds nuw i8, ptr %2, i64 32
  %9 = load ptr, ptr %8, align 8
  %10 = getelementptr inbounds nuw i8, ptr %1, i64 12
  %11 = load i32, ptr %10, align 4
  %12 = icmp eq i32 %11, 0
  br i1 %12, label %33, label %13

13:                                               ; preds = %5
  %14 = zext i32 %11 to i64
  %15 = and i64 %14, 1
  %16 = icmp eq i32 %11, 1
  br i1 %16, label %21, label %17

17:                                               ; preds = %13
  %18 = and i64 %14, 4294967294
  br label %42

19:                                               ; preds = %42
  %20 = icmp eq i64 %15, 0
  br i1 %20, label %33, label %21

21:                                               ; preds = %19, %13
  %22 = phi i64 [ 0, %13 ], [ %63, %19 ]
  %23 = phi i64 [ %3, %13 ], [ %62, %19 ]
  %24 = icmp ne i64 %15, 0
  tail call void @llvm.assume(i1 %24)
  %25 = mul i64 %23, -7046029254386353131
  %26 = getelementptr inbounds nuw i64, ptr %7, i64 %22
  %27 = load i64, ptr %26, align 8
  %28 = xor i64 %27, %25
  %29 = mul i64 %28, -7046029254386353131
  %30 = getelementptr inbounds nuw i64, ptr %9, i64 %22
  %31 = load i64, ptr %30, align 8
  %32 = xor i64 %29, %31
  br label %33

33:                                               ; preds = %21, %19, %5
  %34 = phi i64 [ %3, %5 ], [ %62, %19 ], [ %32, %21 ]
  %35 = getelementptr inbounds nuw i8, ptr %1, i64 128
  %36 = mul i64 %34, 28284495232021
  %37 = lshr i64 %36, 40
  %38 = and i64 %37, 31
  %39 = getelementptr inbounds nuw %struct.map_entry, ptr %35, i64 %38
  %40 = tail call i32 @has_lock() #20
  %41 = icmp eq i32 %40, 0
  br i1 %41, label %66, label %68

42:                                               ; preds = %42, %17
  %43 = phi i64 [ 0, %17 ], [ %63, %42 ]
  %44 = phi i64 [ %3, %17 ], [ %62, %42 ]
  %45 = phi i64 [ 0, %17 ], [ %64, %42 ]
  %46 = mul i64 %44, -7046029254386353131
  %47 = getelementptr inbounds nuw i64, ptr %7, i64 %43
  %48 = load i64, ptr %47, align 8
  %49 = xor i64 %48, %46
  %50 = mul i64 %49, -7046029254386353131
  %51 = getelementptr inbounds nuw i64, ptr %9, i64 %43
  %52 = load i64, ptr %51, align 8
  %53 = xor i64 %50, %52
  %54 = or disjoint i64 %43, 1
  %55 = mul i64 %53, -7046029254386353131
  %56 = getelementptr inbounds nuw i64, ptr %7, i64 %54
  %57 = load i64, ptr %56, align 8
  %58 = xor i64 %57, %55
  %59 = mul i64 %58, -7046029254386353131
  %60 = getelementptr inbounds nuw i64, ptr %9, i64 %54
  %61 = load i64, ptr %60, align 8
  %62 = xor i64 %59, %61
  %63 = add nuw nsw i64 %43, 2
  %64 = add i64 %45, 2
  %65 = icmp eq i64 %64, %18
  br i1 %65, label %19, label %42, !llvm.loop !63

66:                                               ; preds = %33
  %67 = tail call fastcc i32 @map_of_many(ptr noundef %0, ptr noundef nonnull %1, ptr noundef nonnull %2, i64 noundef %3, ptr noundef nonnull %39, ptr noundef %4) #22
  br label %122

68:                                               ; preds = %33
  %69 = load i64, ptr %39, align 8
  %70 = xor i64 %69, %3
  br i1 %12, label %92, label %71

71:                                               ; preds = %68
  %72 = getelementptr inbounds nuw i8, ptr %39, i64 8
  %73 = getelementptr inbounds nuw i8, ptr %39, i64 48
  %74 = zext i32 %11 to i64
  br label %75

75:                                               ; preds = %71, %75
  %76 = phi i64 [ 0, %71 ], [ %90, %75 ]
  %77 = phi i64 [ %70, %71 ], [ %89, %75 ]
  %78 = getelementptr inbounds nuw i64, ptr %7, i64 %76
  %79 = load i64, ptr %78, align 8
  %80 = getelementptr inbounds nuw i64, ptr %72, i64 %76
  %81 = load i64, ptr %80, align 8
  %82 = xor i64 %81, %79
  %83 = getelementptr inbounds nuw i64, ptr %9, i64 %76
  %84 = load i64, ptr %83, align 8
  %85 = getelementptr inbounds nuw i64, ptr %73, i64 %76
  %86 = load i64, ptr %85, align 8
  %87 = xor i64 %86, %84
  %88 = or i64 %82, %77
  %89 = or i64 %88, %87
  %90 = add nuw nsw i64 %76, 1
  %91 = icmp eq i64 %90, %74
  br i1 %91, label %92, label %75, !llvm.loop !64

92:                                               ; preds = %75, %68
  %93 = phi i64 [ %70, %68 ], [ %89, %75 ]
  %94 = icmp eq i64 %93, 0
  br i1 %94, label %98, label %95, !prof !4

95:                                               ; preds = %92
  %96 = tail call fastcc i32 @renew(ptr noundef %0, ptr noundef nonnull %1, ptr noundef nonnull %2, i64 noundef %3, ptr noundef nonnull %39) #22
  %97 = icmp eq i32 %96, 0
  br i1 %97, label %98, label %122

98:                                               ; preds = %95, %92
  %99 = getelementptr inbounds nuw i8, ptr %39, i64 128
  %100 = load <2 x i64>, ptr %99, align 8
  %101 = getelementptr inbounds nuw i8, ptr %39, i64 144
  %102 = load <2 x i64>, ptr %101, align 8
  %103 = getelementptr inbounds nuw i8, ptr %39, i64 160
  %104 = load <2 x i64>, ptr %103, align 8
  %105 = getelementptr inbounds nuw i8, ptr %39, i64 176
  %106 = load <2 x i64>, ptr %105, align 8
  %107 = getelementptr inbounds nuw i8, ptr %39, i64 192
  %108 = load <2 x i64>, ptr %107, align 8
  %109 = getelementptr inbounds nuw i8, ptr %39, i64 208
  %110 = load <2 x i64>, ptr %109, align 8
  %111 = getelementptr inbounds nuw i8, ptr %39, i64 224
  %112 = load <2 x i64>, ptr %111, align 8
  %113 = getelementptr inbounds nuw i8, ptr %39, i64 240
  %114 = load <2 x i64>, ptr %113, align 8
  store <2 x i64> %100, ptr %4, align 8
  %115 = getelementptr inbounds nuw i8, ptr %4, i64 16
  store <2 x i64> %102, ptr %115, align 8
  %116 = getelementptr inbounds nuw i8, ptr %4, i64 32
  store <2 x i64> %104, ptr %116, align 8
  %117 = getelementptr inbounds nuw i8, ptr %4, i64 48
  store <2 x i64> %106, ptr %117, align 8
  %118 = getelementptr inbounds nuw i8, ptr %4, i64 64
  store <2 x i64> %108, ptr %118, align 8
  %119 = getelementptr inbounds nuw i8, ptr %4, i64 80
  store <2 x i64> %110, ptr %119, align 8
  %120 = getelementptr inbounds nuw i8, ptr %4, i64 96
  store <2 x i64> %112, ptr %120, align 8
  %121 = getelementptr inbounds nuw i8, ptr %4, i64 112
  store <2 x i64> %114, ptr %121, align 8
  br label %122

122:                                              ; preds = %95, %98, %66
  %123 = phi i32 [ %67, %66 ], [ 0, %98 ], [ 1, %95 ]
  ret i32 %123
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 2) i32 @map_of_many(ptr noundef nonnull readonly captures(none) %0, ptr noundef %1, ptr noundef readonly captures(none) %2, i64 noundef %3, ptr noundef captures(none) %4, ptr noundef writeonly captures(none) %5) unnamed_addr #3 {
  %7 = alloca [32 x i64], align 16
  call void @llvm.lifetime.start.p0(ptr nonnull %7) #21
  %8 = ptrtoint ptr %7 to i64
  %9 = add i64 %8, 127
  %10 = and i64 %9, -128
  %11 = inttoptr i64 %10 to ptr
  %12 = getelementptr inbounds nuw i8, ptr %4, i64 88
  %13 = load atomic i64, ptr %12 acquire, align 8
  %14 = and i64 %13, 1
  %15 = icmp eq i64 %14, 0
  br i1 %15, label %16, label %76

16:                                               ; preds = %6
  %17 = getelementptr inbounds nuw i8, ptr %1, i64 12
  %18 = load i32, ptr %17, align 4
  %19 = getelementptr inbounds nuw i8, ptr %2, i64 24
  %20 = load ptr, ptr %19, align 8
  %21 = getelementptr inbounds nuw i8, ptr %2, i64 32
  %22 = load ptr, ptr %21, align 8
  %23 = load i64, ptr %4, align 8
  %24 = xor i64 %23, %3
  %25 = icmp eq i32 %18, 0
  br i1 %25, label %47, label %26

26:                                               ; preds = %16
  %27 = getelementptr inbounds nuw i8, ptr %4, i64 8
  %28 = getelementptr inbounds nuw i8, ptr %4, i64 48
  %29 = zext i32 %18 to i64
  br label %30

30:                                               ; preds = %26, %30
  %31 = phi i64 [ 0, %26 ], [ %45, %30 ]
  %32 = phi i64 [ %24, %26 ], [ %44, %30 ]
  %33 = getelementptr inbounds nuw i64, ptr %20, i64 %31
  %34 = load i64, ptr %33, align 8
  %35 = getelementptr inbounds nuw i64, ptr %27, i64 %31
  %36 = load i64, ptr %35, align 8
  %37 = xor i64 %36, %34
  %38 = getelementptr inbounds nuw i64, ptr %22, i64 %31
  %39 = load i64, ptr %38, align 8
  %40 = getelementptr inbounds nuw i64, ptr %28, i64 %31
  %41 = load i64, ptr %40, align 8
  %42 = xor i64 %41, %39
  %43 = or i64 %37, %32
  %44 = or i64 %43, %42
  %45 = add nuw nsw i64 %31, 1
  %46 = icmp eq i64 %45, %29
  br i1 %46, label %47, label %30, !llvm.loop !64

47:                                               ; preds = %30, %16
  %48 = phi i64 [ %24, %16 ], [ %44, %30 ]
  %49 = icmp eq i64 %48, 0
  br i1 %49, label %50, label %76

50:                                               ; preds = %47
  %51 = getelementptr inbounds nuw i8, ptr %4, i64 128
  %52 = load <2 x i64>, ptr %51, align 8
  %53 = getelementptr inbounds nuw i8, ptr %4, i64 144
  %54 = load <2 x i64>, ptr %53, align 8
  %55 = getelementptr inbounds nuw i8, ptr %4, i64 160
  %56 = load <2 x i64>, ptr %55, align 8
  %57 = getelementptr inbounds nuw i8, ptr %4, i64 176
  %58 = load <2 x i64>, ptr %57, align 8
  %59 = getelementptr inbounds nuw i8, ptr %4, i64 192
  %60 = load <2 x i64>, ptr %59, align 8
  %61 = getelementptr inbounds nuw i8, ptr %4, i64 208
  %62 = load <2 x i64>, ptr %61, align 8
  %63 = getelementptr inbounds nuw i8, ptr %4, i64 224
  %64 = load <2 x i64>, ptr %63, align 8
  %65 = getelementptr inbounds nuw i8, ptr %4, i64 240
  %66 = load <2 x i64>, ptr %65, align 8
  store <2 x i64> %52, ptr %5, align 8
  %67 = getelementptr inbounds nuw i8, ptr %5, i64 16
  store <2 x i64> %54, ptr %67, align 8
  %68 = getelementptr inbounds nuw i8, ptr %5, i64 32
  store <2 x i64> %56, ptr %68, align 8
  %69 = getelementptr inbounds nuw i8, ptr %5, i64 48
  store <2 x i64> %58, ptr %69, align 8
  %70 = getelementptr inbounds nuw i8, ptr %5, i64 64
  store <2 x i64> %60, ptr %70, align 8
  %71 = getelementptr inbounds nuw i8, ptr %5, i64 80
  store <2 x i64> %62, ptr %71, align 8
  %72 = getelementptr inbounds nuw i8, ptr %5, i64 96
  store <2 x i64> %64, ptr %72, align 8
  %73 = getelementptr inbounds nuw i8, ptr %5, i64 112
  store <2 x i64> %66, ptr %73, align 8
  fence acquire
  %74 = load atomic i64, ptr %12 monotonic, align 8
  %75 = icmp eq i64 %74, %13
  br i1 %75, label %148, label %76

76:                                               ; preds = %50, %47, %6
  %77 = call fastcc i32 @encode(ptr noundef %0, ptr noundef %1, ptr noundef %2, i64 noundef %3, ptr noundef %11) #22
  %78 = icmp eq i32 %77, 0
  br i1 %78, label %79, label %148

79:                                               ; preds = %76
  %80 = load <2 x i64>, ptr %11, align 128
  %81 = getelementptr inbounds nuw i8, ptr %11, i64 16
  %82 = load <2 x i64>, ptr %81, align 16
  %83 = getelementptr inbounds nuw i8, ptr %11, i64 32
  %84 = load <2 x i64>, ptr %83, align 32
  %85 = getelementptr inbounds nuw i8, ptr %11, i64 48
  %86 = load <2 x i64>, ptr %85, align 16
  %87 = getelementptr inbounds nuw i8, ptr %11, i64 64
  %88 = load <2 x i64>, ptr %87, align 64
  %89 = getelementptr inbounds nuw i8, ptr %11, i64 80
  %90 = load <2 x i64>, ptr %89, align 16
  %91 = getelementptr inbounds nuw i8, ptr %11, i64 96
  %92 = load <2 x i64>, ptr %91, align 32
  %93 = getelementptr inbounds nuw i8, ptr %11, i64 112
  %94 = load <2 x i64>, ptr %93, align 16
  store <2 x i64> %80, ptr %5, align 8
  %95 = getelementptr inbounds nuw i8, ptr %5, i64 16
  store <2 x i64> %82, ptr %95, align 8
  %96 = getelementptr inbounds nuw i8, ptr %5, i64 32
  store <2 x i64> %84, ptr %96, align 8
  %97 = getelementptr inbounds nuw i8, ptr %5, i64 48
  store <2 x i64> %86, ptr %97, align 8
  %98 = getelementptr inbounds nuw i8, ptr %5, i64 64
  store <2 x i64> %88, ptr %98, align 8
  %99 = getelementptr inbounds nuw i8, ptr %5, i64 80
  store <2 x i64> %90, ptr %99, align 8
  %100 = getelementptr inbounds nuw i8, ptr %5, i64 96
  store <2 x i64> %92, ptr %100, align 8
  %101 = getelementptr inbounds nuw i8, ptr %5, i64 112
  store <2 x i64> %94, ptr %101, align 8
  br i1 %15, label %102, label %148

102:                                              ; preds = %79
  %103 = or disjoint i64 %13, 1
  %104 = cmpxchg ptr %12, i64 %13, i64 %103 acquire monotonic, align 8
  %105 = extractvalue { i64, i1 } %104, 1
  %106 = extractvalue { i64, i1 } %104, 0
  br i1 %105, label %107, label %148

107:                                              ; preds = %102
  fence release
  %108 = getelementptr inbounds nuw i8, ptr %4, i64 128
  %109 = load <2 x i64>, ptr %11, align 128
  %110 = load <2 x i64>, ptr %81, align 16
  %111 = load <2 x i64>, ptr %83, align 32
  %112 = load <2 x i64>, ptr %85, align 16
  %113 = load <2 x i64>, ptr %87, align 64
  %114 = load <2 x i64>, ptr %89, align 16
  %115 = load <2 x i64>, ptr %91, align 32
  %116 = load <2 x i64>, ptr %93, align 16
  store <2 x i64> %109, ptr %108, align 8
  %117 = getelementptr inbounds nuw i8, ptr %4, i64 144
  store <2 x i64> %110, ptr %117, align 8
  %118 = getelementptr inbounds nuw i8, ptr %4, i64 160
  store <2 x i64> %111, ptr %118, align 8
  %119 = getelementptr inbounds nuw i8, ptr %4, i64 176
  store <2 x i64> %112, ptr %119, align 8
  %120 = getelementptr inbounds nuw i8, ptr %4, i64 192
  store <2 x i64> %113, ptr %120, align 8
  %121 = getelementptr inbounds nuw i8, ptr %4, i64 208
  store <2 x i64> %114, ptr %121, align 8
  %122 = getelementptr inbounds nuw i8, ptr %4, i64 224
  store <2 x i64> %115, ptr %122, align 8
  %123 = getelementptr inbounds nuw i8, ptr %4, i64 240
  store <2 x i64> %116, ptr %123, align 8
  store i64 %3, ptr %4, align 8
  %124 = getelementptr inbounds nuw i8, ptr %1, i64 12
  %125 = load i32, ptr %124, align 4
  %126 = icmp eq i32 %125, 0
  br i1 %126, label %146, label %127

127:                                              ; preds = %107
  %128 = getelementptr inbounds nuw i8, ptr %2, i64 24
  %129 = getelementptr inbounds nuw i8, ptr %4, i64 8
  %130 = getelementptr inbounds nuw i8, ptr %2, i64 32
  %131 = getelementptr inbounds nuw i8, ptr %4, i64 48
  br label %132

132:                                              ; preds = %127, %132
  %133 = phi i64 [ 0, %127 ], [ %142, %132 ]
  %134 = load ptr, ptr %128, align 8
  %135 = getelementptr inbounds nuw i64, ptr %134, i64 %133
  %136 = load i64, ptr %135, align 8
  %137 = getelementptr inbounds nuw i64, ptr %129, i64 %133
  store i64 %136, ptr %137, align 8
  %138 = load ptr, ptr %130, align 8
  %139 = getelementptr inbounds nuw i64, ptr %138, i64 %133
  %140 = load i64, ptr %139, align 8
  %141 = getelementptr inbounds nuw i64, ptr %131, i64 %133
  store i64 %140, ptr %141, align 8
  %142 = add nuw nsw i64 %133, 1
  %143 = load i32, ptr %124, align 4
  %144 = zext i32 %143 to i64
  %145 = icmp samesign ult i64 %142, %144
  br i1 %145, label %132, label %146, !llvm.loop !65

146:                                              ; preds = %132, %107
  %147 = add i64 %106, 2
  store atomic i64 %147, ptr %12 release, align 8
  br label %148

148:                                              ; preds = %79, %102, %76, %50, %146
  %149 = phi i32 [ 0, %50 ], [ 1, %76 ], [ 0, %146 ], [ 0, %102 ], [ 0, %79 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %7) #21
  ret i32 %149
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 2) i32 @renew(ptr noundef nonnull readonly captures(none) %0, ptr noundef %1, ptr noundef readonly captures(none) %2, i64 noundef %3, ptr noundef writeonly captures(none) %4) unnamed_addr #3 {
  %6 = alloca [32 x i64], align 16
  call void @llvm.lifetime.start.p0(ptr nonnull %6) #21
  %7 = ptrtoint ptr %6 to i64
  %8 = add i64 %7, 127
  %9 = and i64 %8, -128
  %10 = inttoptr i64 %9 to ptr
  %11 = call fastcc i32 @encode(ptr noundef %0, ptr noundef %1, ptr noundef %2, i64 noundef %3, ptr noundef %10) #22
  %12 = icmp eq i32 %11, 0
  br i1 %12, label %13, label %59

13:                                               ; preds = %5
  %14 = getelementptr inbounds nuw i8, ptr %4, i64 128
  %15 = load <2 x i64>, ptr %10, align 128
  %16 = getelementptr inbounds nuw i8, ptr %10, i64 16
  %17 = load <2 x i64>, ptr %16, align 16
  %18 = getelementptr inbounds nuw i8, ptr %10, i64 32
  %19 = load <2 x i64>, ptr %18, align 32
  %20 = getelementptr inbounds nuw i8, ptr %10, i64 48
  %21 = load <2 x i64>, ptr %20, align 16
  %22 = getelementptr inbounds nuw i8, ptr %10, i64 64
  %23 = load <2 x i64>, ptr %22, align 64
  %24 = getelementptr inbounds nuw i8, ptr %10, i64 80
  %25 = load <2 x i64>, ptr %24, align 16
  %26 = getelementptr inbounds nuw i8, ptr %10, i64 96
  %27 = load <2 x i64>, ptr %26, align 32
  %28 = getelementptr inbounds nuw i8, ptr %10, i64 112
  %29 = load <2 x i64>, ptr %28, align 16
  store <2 x i64> %15, ptr %14, align 8
  %30 = getelementptr inbounds nuw i8, ptr %4, i64 144
  store <2 x i64> %17, ptr %30, align 8
  %31 = getelementptr inbounds nuw i8, ptr %4, i64 160
  store <2 x i64> %19, ptr %31, align 8
  %32 = getelementptr inbounds nuw i8, ptr %4, i64 176
  store <2 x i64> %21, ptr %32, align 8
  %33 = getelementptr inbounds nuw i8, ptr %4, i64 192
  store <2 x i64> %23, ptr %33, align 8
  %34 = getelementptr inbounds nuw i8, ptr %4, i64 208
  store <2 x i64> %25, ptr %34, align 8
  %35 = getelementptr inbounds nuw i8, ptr %4, i64 224
  store <2 x i64> %27, ptr %35, align 8
  %36 = getelementptr inbounds nuw i8, ptr %4, i64 240
  store <2 x i64> %29, ptr %36, align 8
  store i64 %3, ptr %4, align 8
  %37 = getelementptr inbounds nuw i8, ptr %1, i64 12
  %38 = load i32, ptr %37, align 4
  %39 = icmp eq i32 %38, 0
  br i1 %39, label %59, label %40

40:                                               ; preds = %13
  %41 = getelementptr inbounds nuw i8, ptr %2, i64 24
  %42 = getelementptr inbounds nuw i8, ptr %4, i64 8
  %43 = getelementptr inbounds nuw i8, ptr %2, i64 32
  %44 = getelementptr inbounds nuw i8, ptr %4, i64 48
  br label %45

45:                                               ; preds = %40, %45
  %46 = phi i64 [ 0, %40 ], [ %55, %45 ]
  %47 = load ptr, ptr %41, align 8
  %48 = getelementptr inbounds nuw i64, ptr %47, i64 %46
  %49 = load i64, ptr %48, align 8
  %50 = getelementptr inbounds nuw i64, ptr %42, i64 %46
  store i64 %49, ptr %50, align 8
  %51 = load ptr, ptr %43, align 8
  %52 = getelementptr inbounds nuw i64, ptr %51, i64 %46
  %53 = load i64, ptr %52, align 8
  %54 = getelementptr inbounds nuw i64, ptr %44, i64 %46
  store i64 %53, ptr %54, align 8
  %55 = add nuw nsw i64 %46, 1
  %56 = load i32, ptr %37, align 4
  %57 = zext i32 %56 to i64
  %58 = icmp samesign ult i64 %55, %57
  br i1 %58, label %45, label %59, !llvm.loop !65

59:                                               ; preds = %45, %13, %5
  %60 = phi i32 [ 1, %5 ], [ 0, %13 ], [ 0, %45 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %6) #21
  ret i32 %60
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 2) i32 @encode(ptr noundef nonnull readonly captures(none) %0, ptr noundef %1, ptr noundef readonly captures(none) %2, i64 noundef %3, ptr noundef %4) unnamed_addr #3 {
  %6 = alloca [5 x i64], align 16
  %7 = alloca [5 x i64], align 16
  %8 = alloca [5 x i32], align 16
  call void @llvm.lifetime.start.p0(ptr nonnull %6) #21
  call void @llvm.lifetime.start.p0(ptr nonnull %7) #21
  call void @llvm.lifetime.start.p0(ptr nonnull %8) #21
  %9 = getelementptr inbounds nuw i8, ptr %1, i64 12
  %10 = load i32, ptr %9, align 4
  %11 = and i64 %3, 15
  %12 = icmp eq i64 %11, 0
  br i1 %12, label %13, label %111

13:                                               ; preds = %5
  %14 = icmp eq i32 %10, 0
  br i1 %14, label %83, label %15

15:                                               ; preds = %13
  %16 = getelementptr inbounds nuw i8, ptr %2, i64 24
  %17 = load ptr, ptr %16, align 8
  %18 = getelementptr inbounds nuw i8, ptr %2, i64 32
  %19 = load ptr, ptr %18, align 8
  %20 = getelementptr inbounds nuw i8, ptr %1, i64 8
  %21 = zext i32 %10 to i64
  %22 = add i32 %10, -1
  %23 = zext i32 %22 to i64
  %24 = getelementptr inbounds nuw i64, ptr %17, i64 %23
  %25 = load i64, ptr %24, align 8
  %26 = add i64 %25, -4294967297
  %27 = icmp ult i64 %26, -4294967296
  br i1 %27, label %111, label %28

28:                                               ; preds = %15
  %29 = getelementptr inbounds nuw i64, ptr %19, i64 %23
  %30 = load i64, ptr %29, align 8
  store i64 %25, ptr %6, align 16
  store i32 1, ptr %8, align 16
  %31 = icmp ne i64 %30, 1
  %32 = icmp ne i64 %25, 1
  %33 = and i1 %32, %31
  br i1 %33, label %111, label %34

34:                                               ; preds = %28
  %35 = icmp eq i32 %10, 1
  br i1 %35, label %83, label %36

36:                                               ; preds = %34
  %37 = load i32, ptr %20, align 4
  %38 = zext i32 %37 to i64
  %39 = mul nuw i64 %25, %38
  %40 = add nuw i64 %39, 31
  %41 = and i64 %40, -32
  br label %42

42:                                               ; preds = %36, %78
  %43 = phi i64 [ %81, %78 ], [ 1, %36 ]
  %44 = phi i64 [ %80, %78 ], [ %41, %36 ]
  %45 = trunc nuw i64 %43 to i32
  %46 = xor i32 %45, -1
  %47 = add i32 %10, %46
  %48 = zext i32 %47 to i64
  %49 = getelementptr inbounds nuw i64, ptr %17, i64 %48
  %50 = load i64, ptr %49, align 8
  %51 = getelementptr inbounds nuw i64, ptr %19, i64 %48
  %52 = load i64, ptr %51, align 8
  %53 = add i64 %50, -4294967297
  %54 = icmp ult i64 %53, -4294967296
  br i1 %54, label %111, label %55

55:                                               ; preds = %42
  %56 = getelementptr inbounds nuw i64, ptr %6, i64 %43
  store i64 %50, ptr %56, align 8
  %57 = getelementptr inbounds nuw i32, ptr %8, i64 %43
  store i32 1, ptr %57, align 4
  %58 = icmp eq i64 %50, 1
  br i1 %58, label %67, label %59

59:                                               ; preds = %55
  %60 = load i32, ptr %20, align 4
  %61 = zext i32 %60 to i64
  %62 = mul i64 %52, %61
  %63 = icmp ult i64 %52, 1099511627776
  %64 = and i64 %62, -1099511627761
  %65 = icmp eq i64 %64, 0
  %66 = select i1 %63, i1 %65, i1 false
  br i1 %66, label %67, label %111

67:                                               ; preds = %59, %55
  %68 = phi i64 [ %62, %59 ], [ %44, %55 ]
  %69 = add nuw i64 %43, 4294967295
  %70 = and i64 %69, 4294967295
  %71 = getelementptr inbounds nuw i64, ptr %7, i64 %70
  store i64 %68, ptr %71, align 8
  %72 = icmp eq i64 %68, 0
  br i1 %72, label %76, label %73

73:                                               ; preds = %67
  %74 = udiv i64 1099511627744, %68
  %75 = icmp samesign ugt i64 %50, %74
  br i1 %75, label %78, label %76

76:                                               ; preds = %73, %67
  %77 = mul i64 %68, %50
  br label %78

78:                                               ; preds = %76, %73
  %79 = phi i64 [ %77, %76 ], [ 1099511627744, %73 ]
  %80 = tail call i64 @llvm.umax.i64(i64 %79, i64 %44)
  %81 = add nuw nsw i64 %43, 1
  %82 = icmp eq i64 %81, %21
  br i1 %82, label %83, label %42, !llvm.loop !66

83:                                               ; preds = %78, %34, %13
  %84 = getelementptr inbounds nuw i8, ptr %1, i64 16
  %85 = load i32, ptr %84, align 4
  %86 = icmp eq i32 %85, 0
  %87 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %88 = load ptr, ptr %87, align 8
  %89 = load i32, ptr %1, align 4
  br i1 %86, label %103, label %90

90:                                               ; preds = %83
  %91 = getelementptr inbounds nuw i8, ptr %88, i64 296
  %92 = load ptr, ptr %91, align 8
  %93 = getelementptr inbounds nuw i8, ptr %1, i64 40
  %94 = getelementptr inbounds nuw i8, ptr %1, i64 52
  %95 = getelementptr inbounds nuw i8, ptr %1, i64 20
  %96 = load i32, ptr %95, align 4
  %97 = getelementptr inbounds nuw i8, ptr %1, i64 24
  %98 = load i32, ptr %97, align 4
  %99 = getelementptr inbounds nuw i8, ptr %1, i64 4
  %100 = load i32, ptr %99, align 4
  %101 = call i32 %92(ptr noundef %4, i32 noundef %89, i32 noundef %10, i64 noundef %3, ptr noundef nonnull %6, ptr noundef nonnull %7, ptr noundef nonnull %93, ptr noundef nonnull %94, i32 noundef %96, i32 noundef %98, ptr noundef nonnull %8, i32 noundef 0, i32 noundef %100, i32 noundef 2, i32 noundef 0) #23
  %102 = icmp ne i32 %101, 0
  br label %111

103:                                              ; preds = %83
  %104 = getelementptr inbounds nuw i8, ptr %88, i64 288
  %105 = load ptr, ptr %104, align 8
  %106 = getelementptr inbounds nuw i8, ptr %1, i64 20
  %107 = getelementptr inbounds nuw i8, ptr %1, i64 4
  %108 = load i32, ptr %107, align 4
  %109 = call i32 %105(ptr noundef %4, i32 noundef %89, i32 noundef %10, i64 noundef %3, ptr noundef nonnull %6, ptr noundef nonnull %7, ptr noundef nonnull %106, ptr noundef nonnull %8, i32 noundef 0, i32 noundef %108, i32 noundef 2, i32 noundef 0) #23
  %110 = icmp ne i32 %109, 0
  br label %111

111:                                              ; preds = %59, %42, %15, %28, %5, %103, %90
  %112 = phi i1 [ true, %5 ], [ %102, %90 ], [ %110, %103 ], [ true, %28 ], [ true, %15 ], [ true, %42 ], [ true, %59 ]
  %113 = zext i1 %112 to i32
  call void @llvm.lifetime.end.p0(ptr nonnull %8) #21
  call void @llvm.lifetime.end.p0(ptr nonnull %7) #21
  call void @llvm.lifetime.end.p0(ptr nonnull %6) #21
  ret i32 %113
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 2) i32 @submit_all(ptr noundef nonnull readonly captures(none) %0, ptr noundef readonly captures(none) %1) unnamed_addr #3 {
  %3 = getelementptr inbounds nuw i8, ptr %1, i64 24
  %4 = load ptr, ptr %3, align 8
  %5 = getelementptr inbounds nuw i8, ptr %0, i64 24
  %6 = load ptr, ptr %5, align 8
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 80
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr inbounds nuw i8, ptr %4, i64 8
  %10 = load i64, ptr %9, align 8
  %11 = icmp eq i64 %10, 0
  br i1 %11, label %16, label %12

12:                                               ; preds = %2
  %13 = getelementptr inbounds nuw i8, ptr %4, i64 16
  %14 = load ptr, ptr %13, align 8
  %15 = icmp eq ptr %8, %14
  br i1 %15, label %16, label %111

16:                                               ; preds = %12, %2
  %17 = getelementptr inbounds nuw i8, ptr %1, i64 16
  %18 = load i64, ptr %17, align 8
  %19 = getelementptr inbounds nuw i8, ptr %0, i64 8
  %20 = load ptr, ptr %19, align 8
  %21 = load ptr, ptr %0, align 8
  %22 = getelementptr inbounds nuw i8, ptr %21, i64 96
  %23 = load i32, ptr %22, align 8
  %24 = zext i32 %23 to i64
  %25 = getelementptr inbounds nuw i8, ptr %20, i64 %24
  %26 = getelementptr inbounds nuw i8, ptr %25, i64 8
  %27 = load i64, ptr %26, align 8
  %28 = icmp eq i64 %18, %27
  br i1 %28, label %29, label %111

29:                                               ; preds = %16
  %30 = tail call i32 @has_lock() #20
  %31 = icmp eq i32 %30, 0
  br i1 %31, label %35, label %32

32:                                               ; preds = %29
  %33 = load i64, ptr %4, align 8
  %34 = icmp eq i64 %33, 0
  br i1 %34, label %38, label %111

35:                                               ; preds = %29
  %36 = atomicrmw xchg ptr %4, i64 1 acquire, align 8
  %37 = icmp eq i64 %36, 0
  br i1 %37, label %38, label %111

38:                                               ; preds = %35, %32
  %39 = getelementptr inbounds nuw i8, ptr %4, i64 40
  %40 = load ptr, ptr %39, align 8
  %41 = getelementptr inbounds nuw i8, ptr %4, i64 24
  %42 = load i64, ptr %41, align 8
  %43 = mul nuw nsw i64 %42, 48
  %44 = getelementptr inbounds nuw i8, ptr %40, i64 %43
  %45 = icmp eq i64 %42, 0
  br i1 %45, label %76, label %46

46:                                               ; preds = %38, %73
  %47 = phi ptr [ %74, %73 ], [ %40, %38 ]
  %48 = load ptr, ptr %19, align 8
  %49 = load i64, ptr %47, align 8
  %50 = getelementptr inbounds nuw i64, ptr %48, i64 %49
  %51 = load i64, ptr %50, align 8
  %52 = getelementptr inbounds nuw i8, ptr %47, i64 8
  %53 = load i64, ptr %52, align 8
  %54 = add i64 %53, %51
  %55 = getelementptr inbounds nuw i8, ptr %47, i64 16
  %56 = load i64, ptr %55, align 8
  %57 = and i64 %54, %56
  %58 = icmp eq i64 %57, 0
  br i1 %58, label %59, label %109

59:                                               ; preds = %46
  %60 = getelementptr inbounds nuw i8, ptr %47, i64 40
  %61 = load ptr, ptr %60, align 8
  %62 = icmp eq ptr %61, null
  br i1 %62, label %63, label %66

63:                                               ; preds = %59
  %64 = getelementptr inbounds nuw i8, ptr %47, i64 24
  %65 = load ptr, ptr %64, align 8
  store i64 %54, ptr %65, align 8
  br label %73

66:                                               ; preds = %59
  %67 = getelementptr inbounds nuw i8, ptr %47, i64 32
  %68 = load ptr, ptr %67, align 8
  %69 = getelementptr inbounds nuw i8, ptr %47, i64 24
  %70 = load ptr, ptr %69, align 8
  %71 = tail call fastcc i32 @tensor_map(ptr noundef %0, ptr noundef %68, ptr noundef nonnull %61, i64 noundef %54, ptr noundef %70) #22
  %72 = icmp eq i32 %71, 0
  br i1 %72, label %73, label %109

73:                                               ; preds = %66, %63
  %74 = getelementptr inbounds nuw i8, ptr %47, i64 48
  %75 = icmp ult ptr %74, %44
  br i1 %75, label %46, label %76, !llvm.loop !67

76:                                               ; preds = %73, %38
  store i64 1, ptr %4, align 8
  %77 = getelementptr inbounds nuw i8, ptr %6, i64 72
  %78 = load ptr, ptr %77, align 8
  %79 = tail call ptr %78() #23
  %80 = getelementptr inbounds nuw i8, ptr %4, i64 48
  %81 = load ptr, ptr %80, align 8
  %82 = getelementptr inbounds nuw i8, ptr %4, i64 32
  %83 = load i64, ptr %82, align 8
  %84 = mul nuw nsw i64 %83, 72
  %85 = getelementptr inbounds nuw i8, ptr %81, i64 %84
  %86 = icmp eq i64 %83, 0
  br i1 %86, label %92, label %87

87:                                               ; preds = %76
  %88 = getelementptr inbounds nuw i8, ptr %6, i64 80
  br label %96

89:                                               ; preds = %96
  %90 = xor i1 %107, true
  %91 = zext i1 %90 to i32
  br label %92

92:                                               ; preds = %89, %76
  %93 = phi i32 [ 0, %76 ], [ %91, %89 ]
  %94 = getelementptr inbounds nuw i8, ptr %6, i64 88
  %95 = load ptr, ptr %94, align 8
  tail call void %95(ptr noundef %79) #23
  br label %109

96:                                               ; preds = %87, %96
  %97 = phi ptr [ %81, %87 ], [ %105, %96 ]
  %98 = getelementptr inbounds nuw i8, ptr %97, i64 32
  store ptr %8, ptr %98, align 8
  %99 = load ptr, ptr %88, align 8
  %100 = getelementptr inbounds nuw i8, ptr %97, i64 56
  %101 = load ptr, ptr %100, align 8
  %102 = getelementptr inbounds nuw i8, ptr %97, i64 64
  %103 = load ptr, ptr %102, align 8
  %104 = tail call i32 %99(ptr noundef %97, ptr noundef %101, ptr noundef %103, ptr noundef null) #23
  %105 = getelementptr inbounds nuw i8, ptr %97, i64 72
  %106 = icmp ult ptr %105, %85
  %107 = icmp eq i32 %104, 0
  %108 = select i1 %106, i1 %107, i1 false
  br i1 %108, label %96, label %89, !llvm.loop !68

109:                                              ; preds = %66, %46, %92
  %110 = phi i32 [ %93, %92 ], [ 1, %46 ], [ 1, %66 ]
  store atomic i64 0, ptr %4 release, align 8
  br label %111

111:                                              ; preds = %109, %32, %35, %12, %16
  %112 = phi i32 [ 1, %32 ], [ 1, %12 ], [ 1, %35 ], [ 1, %16 ], [ %110, %109 ]
  ret i32 %112
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 2) i32 @submit_there(ptr noundef readonly captures(none) %0, ptr noundef nonnull %1, ptr noundef readonly captures(none) %2, ptr noundef %3, ptr noundef %4) unnamed_addr #3 {
  %6 = alloca i64, align 8
  call void @llvm.lifetime.start.p0(ptr nonnull %6) #21
  store i64 0, ptr %6, align 8
  %7 = getelementptr inbounds nuw i8, ptr %0, i64 64
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr inbounds nuw i8, ptr %2, i64 8
  %10 = load ptr, ptr %9, align 8
  %11 = call i32 %8(ptr noundef %10, ptr noundef nonnull %6) #23
  %12 = icmp eq i32 %11, 0
  br i1 %12, label %13, label %40

13:                                               ; preds = %5
  %14 = load i64, ptr %6, align 8
  %15 = getelementptr inbounds nuw i8, ptr %2, i64 16
  %16 = load i64, ptr %15, align 8
  %17 = icmp eq i64 %14, %16
  br i1 %17, label %18, label %40

18:                                               ; preds = %13
  %19 = getelementptr inbounds nuw i8, ptr %0, i64 272
  %20 = load ptr, ptr %19, align 8
  %21 = load ptr, ptr %9, align 8
  %22 = call i32 %20(ptr noundef %21) #23
  %23 = icmp eq i32 %22, 0
  br i1 %23, label %24, label %40

24:                                               ; preds = %18
  %25 = getelementptr inbounds nuw i8, ptr %0, i64 72
  %26 = load ptr, ptr %25, align 8
  %27 = call ptr %26() #23
  %28 = getelementptr inbounds nuw i8, ptr %0, i64 80
  %29 = load ptr, ptr %28, align 8
  %30 = getelementptr inbounds nuw i8, ptr %2, i64 24
  %31 = load ptr, ptr %30, align 8
  %32 = call i32 %29(ptr noundef nonnull %1, ptr noundef %31, ptr noundef %3, ptr noundef %4) #23
  %33 = getelementptr inbounds nuw i8, ptr %0, i64 88
  %34 = load ptr, ptr %33, align 8
  call void %34(ptr noundef %27) #23
  %35 = icmp ne i32 %32, 0
  %36 = zext i1 %35 to i32
  %37 = getelementptr inbounds nuw i8, ptr %0, i64 280
  %38 = load ptr, ptr %37, align 8
  %39 = call i32 %38(ptr noundef nonnull %6) #23
  br label %40

40:                                               ; preds = %5, %13, %18, %24
  %41 = phi i32 [ %36, %24 ], [ 1, %18 ], [ 1, %13 ], [ 1, %5 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %6) #21
  ret i32 %41
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 2) i32 @shape_of(ptr noundef readonly captures(none) %0, ptr noundef %1, ptr noundef nonnull writeonly captures(none) %2) unnamed_addr #3 {
  %4 = alloca [3 x i64], align 16
  call void @llvm.lifetime.start.p0(ptr nonnull %4) #21
  %5 = getelementptr inbounds nuw i8, ptr %4, i64 16
  store i64 1, ptr %5, align 16
  %6 = getelementptr inbounds nuw i8, ptr %4, i64 8
  store i64 1, ptr %6, align 8
  store i64 1, ptr %4, align 16
  %7 = tail call i64 @object_head() #20
  %8 = getelementptr inbounds i8, ptr %1, i64 %7
  %9 = getelementptr inbounds i8, ptr %8, i64 -8
  %10 = load ptr, ptr %9, align 8
  %11 = getelementptr inbounds nuw i8, ptr %0, i64 112
  %12 = load ptr, ptr %11, align 8
  %13 = icmp eq ptr %10, %12
  br i1 %13, label %14, label %18

14:                                               ; preds = %3
  %15 = load i64, ptr %8, align 8
  %16 = add i64 %15, -4
  %17 = icmp ult i64 %16, -3
  br i1 %17, label %87, label %22

18:                                               ; preds = %3
  %19 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %20 = load ptr, ptr %19, align 8
  %21 = icmp eq ptr %10, %20
  br i1 %21, label %22, label %87

22:                                               ; preds = %18, %14
  %23 = phi i64 [ %15, %14 ], [ 0, %18 ]
  %24 = tail call i64 @llvm.umax.i64(i64 %23, i64 1)
  %25 = icmp eq i64 %23, 0
  %26 = getelementptr inbounds nuw i8, ptr %0, i64 32
  %27 = getelementptr inbounds nuw i8, ptr %0, i64 48
  %28 = getelementptr inbounds nuw i8, ptr %0, i64 40
  %29 = getelementptr inbounds nuw i8, ptr %0, i64 120
  %30 = getelementptr inbounds nuw i8, ptr %0, i64 160
  br label %31

31:                                               ; preds = %22, %75
  %32 = phi i64 [ 0, %22 ], [ %76, %75 ]
  br i1 %25, label %43, label %33

33:                                               ; preds = %31
  %34 = load ptr, ptr %9, align 8
  %35 = getelementptr i8, ptr %34, i64 %7
  %36 = getelementptr i8, ptr %35, i64 16
  %37 = load i64, ptr %36, align 8
  %38 = getelementptr inbounds i8, ptr %1, i64 %37
  %39 = shl i64 %32, 32
  %40 = ashr exact i64 %39, 29
  %41 = getelementptr inbounds i8, ptr %38, i64 %40
  %42 = load ptr, ptr %41, align 8
  br label %43

43:                                               ; preds = %31, %33
  %44 = phi ptr [ %42, %33 ], [ %1, %31 ]
  %45 = getelementptr inbounds i8, ptr %44, i64 %7
  %46 = getelementptr inbounds i8, ptr %45, i64 -8
  %47 = load ptr, ptr %46, align 8
  %48 = load ptr, ptr %26, align 8
  %49 = icmp eq ptr %47, %48
  br i1 %49, label %50, label %87

50:                                               ; preds = %43
  %51 = getelementptr inbounds nuw i64, ptr %4, i64 %32
  %52 = load i64, ptr %45, align 8
  %53 = load i64, ptr %27, align 8
  %54 = xor i64 %53, -1
  %55 = and i64 %52, %54
  %56 = load i64, ptr %28, align 8
  %57 = icmp eq i64 %55, %56
  br i1 %57, label %58, label %62

58:                                               ; preds = %50
  %59 = getelementptr inbounds nuw i8, ptr %45, i64 8
  %60 = load i32, ptr %59, align 4
  %61 = zext i32 %60 to i64
  store i64 %61, ptr %51, align 8
  br label %75

62:                                               ; preds = %50
  %63 = load ptr, ptr %29, align 8
  %64 = tail call i64 %63(ptr noundef nonnull %44) #23
  store i64 %64, ptr %51, align 8
  %65 = icmp eq i64 %64, -1
  br i1 %65, label %66, label %73

66:                                               ; preds = %62
  %67 = load ptr, ptr %30, align 8
  %68 = tail call ptr %67() #23
  %69 = icmp eq ptr %68, null
  br i1 %69, label %87, label %70

70:                                               ; preds = %66
  %71 = getelementptr inbounds nuw i8, ptr %0, i64 168
  %72 = load ptr, ptr %71, align 8
  tail call void %72() #23
  br label %87

73:                                               ; preds = %62
  %74 = icmp ult i64 %64, 4294967296
  br i1 %74, label %75, label %87

75:                                               ; preds = %73, %58
  %76 = add nuw nsw i64 %32, 1
  %77 = icmp eq i64 %76, %24
  br i1 %77, label %78, label %31, !llvm.loop !69

78:                                               ; preds = %75
  %79 = load i64, ptr %4, align 16
  %80 = load i64, ptr %6, align 8
  %81 = load i64, ptr %5, align 16
  %82 = shl i64 %80, 32
  %83 = or i64 %82, %79
  store i64 %83, ptr %2, align 8
  %84 = shl nuw nsw i64 %23, 32
  %85 = or i64 %81, %84
  %86 = getelementptr inbounds nuw i8, ptr %2, i64 8
  store i64 %85, ptr %86, align 8
  br label %87

87:                                               ; preds = %73, %43, %66, %70, %18, %14, %78
  %88 = phi i32 [ 1, %14 ], [ 0, %78 ], [ 1, %18 ], [ 1, %70 ], [ 1, %66 ], [ 1, %43 ], [ 1, %73 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %4) #21
  ret i32 %88
}

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smax.i64(i64, i64) #18

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #18

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umax.i64(i64, i64) #18

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(inaccessiblemem: write)
declare void @llvm.assume(i1 noundef) #19

attributes #0 = { nounwind "min-legal-vector-width"="0" "no-builtins" "no-jump-tables"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" }
attributes #1 = { mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: write) }
attributes #3 = { noinline nounwind "min-legal-vector-width"="0" "no-builtins" "no-jump-tables"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" }
attributes #4 = { mustprogress nofree nosync nounwind willreturn memory(none) "no-builtins" "no-trapping-math"="true" "stack-protector-buffer-size"="8" }
attributes #5 = { mustprogress nocallback nofree nosync nounwind willreturn memory(none) }
attributes #6 = { mustprogress nocallback nofree nosync nounwind willreturn }
attributes #7 = { nofree noinline norecurse nounwind memory(argmem: readwrite) "min-legal-vector-width"="0" "no-builtins" "no-jump-tables"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" }
attributes #8 = { nofree noinline norecurse nosync nounwind memory(readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none) "min-legal-vector-width"="0" "no-builtins" "no-jump-tables"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" }
attributes #9 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: readwrite) }
attributes #10 = { nofree noinline nounwind memory(readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none) "min-legal-vector-width"="0" "no-builtins" "no-jump-tables"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" }
attributes #11 = { mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: readwrite) "min-legal-vector-width"="0" "no-builtins" "no-jump-tables"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" }
attributes #12 = { nofree noinline norecurse nosync nounwind memory(argmem: readwrite) "min-legal-vector-width"="0" "no-builtins" "no-jump-tables"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" }
attributes #13 = { mustprogress nofree noinline norecurse nosync nounwind willreturn memory(readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none) "min-legal-vector-width"="0" "no-builtins" "no-jump-tables"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" }
attributes #14 = { nofree noinline norecurse nosync nounwind memory(read, argmem: readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none) "min-legal-vector-width"="0" "no-builtins" "no-jump-tables"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" }
attributes #15 = { mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #16 = { mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: write) "min-legal-vector-width"="0" "no-builtins" "no-jump-tables"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" }
attributes #17 = { nofree noinline nounwind memory(read, argmem: readwrite, inaccessiblemem: none, target_mem0: none, target_mem1: none) "min-legal-vector-width"="0" "no-builtins" "no-jump-tables"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" }
attributes #18 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #19 = { nocallback nofree nosync nounwind willreturn memory(inaccessiblemem: write) }
attributes #20 = { nobuiltin nounwind willreturn memory(none) "no-builtins" }
attributes #21 = { nounwind }
attributes #22 = { nobuiltin "no-builtins" }
attributes #23 = { nobuiltin nounwind "no-builtins" }

!llvm.module.flags = !{!0, !1, !2}

!0 = !{i32 7, !"Dwarf Version", i32 4}
!1 = !{i32 1, !"wchar_size", i32 4}
!2 = !{i32 8, !"PIC Level", i32 2}
!4 = !{!"branch_weights", !"expected", i32 2000, i32 1}
!5 = !{!"branch_weights", !"expected", i32 1, i32 2000}
!6 = distinct !{!6, !7}
!7 = !{!"llvm.loop.mustprogress"}
!8 = distinct !{!8, !9}
!9 = !{!"llvm.loop.unroll.disable"}
!10 = !{!"branch_weights", !"expected", i32 2861880, i32 2144621768}
!11 = !{!"branch_weights", i32 2144049393, i32 3434255}
!12 = distinct !{!12, !7}
!13 = !{!"branch_weights", !"expected", i32 0, i32 -2147483648}
!14 = distinct !{!14, !7}
!15 = distinct !{!15, !7}
!16 = !{!"branch_weights", !"expected", i32 2145766520, i32 1717128}
!17 = distinct !{!17, !7, !9, !18}
!18 = !{!"llvm.loop.vectorize.width", i32 1}
!19 = !{!"branch_weights", !"expected", i32 2858071, i32 2144625577}
!20 = !{!"branch_weights", i32 2000, i32 2001, i32 4000000}
!21 = distinct !{!21, !7, !9, !18}
!22 = distinct !{!22, !7, !9, !18}
!23 = distinct !{!23, !7}
!24 = !{!"branch_weights", i32 1, i32 8000, i32 2, i32 1}
!25 = distinct !{!25, !9}
!26 = distinct !{!26, !7}
!27 = distinct !{!27, !7}
!28 = distinct !{!28, !7}
!29 = distinct !{!29, !7}
!30 = distinct !{!30, !7}
!31 = distinct !{!31, !7}
!32 = distinct !{!32, !7}
!33 = !{!"branch_weights", !"expected", i32 1078537, i32 2146405111}
!34 = distinct !{!34, !7}
!35 = distinct !{!35, !7}
!36 = distinct !{!36, !7}
!37 = !{!"branch_weights", !"expected", i32 1717128, i32 2145766520}
!38 = !{!"branch_weights", i32 4000000, i32 4001}
!39 = !{!"branch_weights", i32 1, i32 2001, i32 2000}
!40 = distinct !{!40, !7}
!41 = !{!"branch_weights", !"expected", i32 2144915473, i32 2568175}
!42 = distinct !{!42, !7}
!43 = !{!"branch_weights", !"expected", i32 -2147483648, i32 0}
!44 = distinct !{!44, !7}
!45 = distinct !{!45, !7}
!46 = distinct !{!46, !7}
!47 = distinct !{!47, !7}
!48 = distinct !{!48, !7}
!49 = distinct !{!49, !7}
!50 = distinct !{!50, !7}
!51 = distinct !{!51, !7}
!52 = distinct !{!52, !7, !53}
!53 = !{!"llvm.loop.peeled.count", i32 1}
!54 = distinct !{!54, !7}
!55 = distinct !{!55, !7}
!56 = distinct !{!56, !7}
!57 = distinct !{!57, !9}
!58 = distinct !{!58, !7}
!59 = distinct !{!59, !7}
!60 = distinct !{!60, !9}
!61 = distinct !{!61, !7}
!62 = distinct !{!62, !7}
!63 = distinct !{!63, !7}
!64 = distinct !{!64, !7, !9, !18}
!65 = distinct !{!65, !7}
!66 = distinct !{!66, !7, !53}
!67 = distinct !{!67, !7}
!68 = distinct !{!68, !7}
!69 = distinct !{!69, !7}
